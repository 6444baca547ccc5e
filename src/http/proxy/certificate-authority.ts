/**
 * A certificate authority that lives as long as one recording: its key is drawn here, stays in
 * memory, and signs certificates for the hosts that a client asks for. Knows X.509; who trusts the
 * authority, and who serves with its certificates, is others' business.
 */
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign,
} from 'node:crypto'
import { isIP } from 'node:net'
import type { Extension, Name } from '@peculiar/asn1-x509'

/** What a TLS server serves with; both are PEM. */
export interface ServingIdentity {
  readonly key: string
  readonly cert: string
}

type X509 = typeof import('@peculiar/asn1-x509')
type Asn1 = typeof import('@peculiar/asn1-schema')

const ECDSA_WITH_SHA256 = '1.2.840.10045.4.3.2'
const COMMON_NAME = '2.5.4.3'
const SERVER_AUTH = '1.3.6.1.5.5.7.3.1'
const SERIAL_BYTES = 16

/** Clocks of client and sidecar are one; the margin is for those that were set back meanwhile. */
const VALID_BEFORE_MS = 2 * 24 * 60 * 60 * 1000
/**
 * Apple's clients refuse what is valid for more than 825 days; a recording never lasts that long.
 */
const VALID_AFTER_MS = 397 * 24 * 60 * 60 * 1000
/** RFC 5280's bound for a common name; the names that count are in the SAN. */
const COMMON_NAME_LENGTH_MAX = 64

export class CertificateAuthority {
  private readonly served = new Map<string, ServingIdentity>()

  private constructor(
    private readonly x509: X509,
    private readonly asn1: Asn1,
    private readonly authorityKey: KeyObject,
    private readonly name: string,
    private readonly keyId: ArrayBuffer,
    /** The authority's own certificate, PEM: what a client has to trust. */
    readonly cert: string,
    /** One key for all hosts: to make one costs more than to sign. */
    private readonly hostKey: { readonly pem: string; readonly spki: Buffer },
    private readonly now: () => number,
  ) {}

  /** Draw a key and sign it. Loads the library for X.509, which nothing else of daglog needs. */
  static async create(now: () => number = Date.now): Promise<CertificateAuthority> {
    const [x509, asn1] = await Promise.all([
      import('@peculiar/asn1-x509'),
      import('@peculiar/asn1-schema'),
    ])
    const authority = keyPair()
    const host = keyPair()
    const name = `daglog ${randomBytes(4).toString('hex')}`
    const keyId = arrayBuffer(createHash('sha1').update(authority.spki).digest())
    const draft = { issuer: name, subject: name, spki: authority.spki, now: now() }
    const cert = signed(x509, asn1, authority.key, {
      ...draft,
      extensions: authorityExtensions(x509, asn1, keyId),
    })
    return new CertificateAuthority(x509, asn1, authority.key, name, keyId, cert, host, now)
  }

  /** A certificate for a host name or an IP address (without brackets), made once. */
  identityOf(host: string): ServingIdentity {
    const known = this.served.get(host)
    if (known !== undefined) return known
    const { x509, asn1, hostKey, name } = this
    const cert = signed(x509, asn1, this.authorityKey, {
      issuer: name,
      subject: host.slice(0, COMMON_NAME_LENGTH_MAX),
      spki: hostKey.spki,
      now: this.now(),
      extensions: hostExtensions(x509, asn1, host, this.keyId),
    })
    const identity = { key: hostKey.pem, cert }
    this.served.set(host, identity)
    return identity
  }
}

function keyPair(): { key: KeyObject; pem: string; spki: Buffer } {
  const { privateKey, publicKey } = generateKeyPairSync('ec', {
    namedCurve: 'P-256',
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  })
  const spki = createPublicKey(publicKey).export({ type: 'spki', format: 'der' })
  return { key: createPrivateKey(privateKey), pem: privateKey, spki }
}

interface CertificateDraft {
  readonly issuer: string
  readonly subject: string
  readonly spki: Buffer
  readonly now: number
  readonly extensions: readonly Extension[]
}

function signed(x509: X509, asn1: Asn1, key: KeyObject, draft: CertificateDraft): string {
  const { issuer, subject, spki, now, extensions } = draft
  const serial = randomBytes(SERIAL_BYTES)
  // Positive, and never of less bytes: the first bit is 0, the second 1.
  serial[0] = ((serial[0] as number) & 0x3f) | 0x40
  const algorithm = new x509.AlgorithmIdentifier({ algorithm: ECDSA_WITH_SHA256 })
  const tbsCertificate = new x509.TBSCertificate({
    version: x509.Version.v3,
    serialNumber: arrayBuffer(serial),
    signature: algorithm,
    issuer: nameOf(x509, issuer),
    validity: new x509.Validity({
      notBefore: new Date(now - VALID_BEFORE_MS),
      notAfter: new Date(now + VALID_AFTER_MS),
    }),
    subject: nameOf(x509, subject),
    subjectPublicKeyInfo: asn1.AsnConvert.parse(spki, x509.SubjectPublicKeyInfo),
    extensions: new x509.Extensions([...extensions]),
  })
  const tbs = Buffer.from(asn1.AsnConvert.serialize(tbsCertificate))
  const certificate = new x509.Certificate({
    tbsCertificate,
    signatureAlgorithm: algorithm,
    signatureValue: arrayBuffer(sign('sha256', tbs, key)),
  })
  return pemOf(Buffer.from(asn1.AsnConvert.serialize(certificate)))
}

function authorityExtensions(x509: X509, asn1: Asn1, keyId: ArrayBuffer): Extension[] {
  const { KeyUsageFlags } = x509
  const usage = new x509.KeyUsage(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign)
  return [
    extension(
      x509,
      asn1,
      x509.id_ce_basicConstraints,
      true,
      new x509.BasicConstraints({
        cA: true,
        pathLenConstraint: 0,
      }),
    ),
    extension(x509, asn1, x509.id_ce_keyUsage, true, usage),
    extension(
      x509,
      asn1,
      x509.id_ce_subjectKeyIdentifier,
      false,
      new x509.SubjectKeyIdentifier(keyId),
    ),
  ]
}

function hostExtensions(x509: X509, asn1: Asn1, host: string, keyId: ArrayBuffer): Extension[] {
  // A client that asks for an address looks for it as an address: a DNS name of digits is not
  // enough.
  const name = isIP(host) === 0 ? { dNSName: host } : { iPAddress: host }
  return [
    extension(
      x509,
      asn1,
      x509.id_ce_basicConstraints,
      true,
      new x509.BasicConstraints({ cA: false }),
    ),
    extension(
      x509,
      asn1,
      x509.id_ce_keyUsage,
      true,
      new x509.KeyUsage(x509.KeyUsageFlags.digitalSignature),
    ),
    extension(x509, asn1, x509.id_ce_extKeyUsage, false, new x509.ExtendedKeyUsage([SERVER_AUTH])),
    extension(
      x509,
      asn1,
      x509.id_ce_authorityKeyIdentifier,
      false,
      new x509.AuthorityKeyIdentifier({
        keyIdentifier: new x509.KeyIdentifier(keyId),
      }),
    ),
    extension(
      x509,
      asn1,
      x509.id_ce_subjectAltName,
      false,
      new x509.SubjectAlternativeName([new x509.GeneralName(name)]),
    ),
  ]
}

function extension(
  x509: X509,
  asn1: Asn1,
  extnID: string,
  critical: boolean,
  value: object,
): Extension {
  const extnValue = new asn1.OctetString(asn1.AsnConvert.serialize(value))
  return new x509.Extension({ extnID, critical, extnValue })
}

function nameOf(x509: X509, commonName: string): Name {
  const value = new x509.AttributeValue({ utf8String: commonName })
  const attribute = new x509.AttributeTypeAndValue({ type: COMMON_NAME, value })
  return new x509.Name([new x509.RelativeDistinguishedName([attribute])])
}

function arrayBuffer(bytes: Buffer): ArrayBuffer {
  return Uint8Array.from(bytes).buffer
}

function pemOf(der: Buffer): string {
  const lines = der.toString('base64').match(/.{1,64}/g) ?? []
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`
}
