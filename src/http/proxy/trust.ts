/**
 * Who is trusted: by a child, which has to trust the sidecar and all that it trusted before; and by
 * the sidecar, which trusts what the child would have.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { rootCertificates } from 'node:tls'
import { DaglogError, systemCode } from '../../core/errors.js'

type Environment = Readonly<Record<string, string | undefined>>

/** Variables that name a bundle which takes the place of a client's own. */
const REPLACING = [
  'SSL_CERT_FILE',
  'REQUESTS_CA_BUNDLE',
  'CURL_CA_BUNDLE',
  'GIT_SSL_CAINFO',
] as const
/** Where systems keep theirs: Debian, Fedora, SUSE, Alpine and macOS. */
const SYSTEM_BUNDLES = [
  '/etc/ssl/certs/ca-certificates.crt',
  '/etc/pki/tls/certs/ca-bundle.crt',
  '/etc/ssl/ca-bundle.pem',
  '/etc/ssl/cert.pem',
] as const

/**
 * All that clients of this machine trust, PEM: Node's roots, the system's, and what the environment
 * adds.
 * @throws READ_FAILED where a file that the environment names cannot be read
 */
export function trustedHere(env: Environment): string[] {
  const named = [...REPLACING, 'NODE_EXTRA_CA_CERTS'].flatMap((name) => {
    const path = env[name]
    return path === undefined || path === '' ? [] : [certificatesIn(path, name)]
  })
  const system = SYSTEM_BUNDLES.filter((path) => existsSync(path)).slice(0, 1)
  const all = [...rootCertificates, ...system.flatMap((path) => pemsIn(readFileSync(path, 'utf8')))]
  return [...new Set([...all, ...named.flat()].map((pem) => `${pem.trim()}\n`))]
}

function certificatesIn(path: string, variable: string): string[] {
  try {
    return pemsIn(readFileSync(path, 'utf8'))
  } catch (cause) {
    throw new DaglogError(
      'READ_FAILED',
      `the certificates that ${variable} names cannot be read (${systemCode(cause)}); try: mend the path, or unset ${variable}`,
      { variable, path, system: systemCode(cause) },
      { cause },
    )
  }
}

function pemsIn(text: string): string[] {
  return text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
}

/** Write certificates into one file, which only its owner may change or read. */
export function writeBundle(path: string, certificates: readonly string[]): void {
  writeFileSync(path, certificates.join(''), { mode: 0o600, flag: 'wx' })
}
