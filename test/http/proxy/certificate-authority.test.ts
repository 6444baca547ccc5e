import { X509Certificate } from 'node:crypto'
import https from 'node:https'
import type { AddressInfo } from 'node:net'
import { expect, it } from 'vitest'
import { CertificateAuthority } from '../../../src/http/proxy/certificate-authority.js'

it('names hosts as DNS names and addresses as addresses', async () => {
  const authority = await CertificateAuthority.create()
  const parent = new X509Certificate(authority.cert)
  for (const [host, name] of [
    ['api.openai.com', 'DNS:api.openai.com'],
    ['127.0.0.1', 'IP Address:127.0.0.1'],
    ['::1', 'IP Address:0:0:0:0:0:0:0:1'],
    [`${'long.'.repeat(20)}example`, `DNS:${'long.'.repeat(20)}example`],
  ] as const) {
    const leaf = new X509Certificate(authority.identityOf(host).cert)
    expect(leaf.subjectAltName).toBe(name)
    expect(leaf.verify(parent.publicKey)).toBe(true)
    expect(leaf.checkIssued(parent)).toBe(true)
    expect(leaf.ca).toBe(false)
  }
  expect(parent.ca).toBe(true)
})

it('signs one certificate for a host, however often it is asked', async () => {
  const authority = await CertificateAuthority.create()
  expect(authority.identityOf('a.example')).toBe(authority.identityOf('a.example'))
})

it('is another one each time', async () => {
  const [one, other] = await Promise.all([
    CertificateAuthority.create(),
    CertificateAuthority.create(),
  ])
  const leaf = new X509Certificate(one.identityOf('a.example').cert)
  expect(leaf.verify(new X509Certificate(other.cert).publicKey)).toBe(false)
})

it('is valid on a clock that was set back by a day', async () => {
  const now = Date.now()
  const authority = await CertificateAuthority.create(() => now)
  const leaf = new X509Certificate(authority.identityOf('a.example').cert)
  expect(Date.parse(leaf.validFrom)).toBeLessThan(now - 24 * 60 * 60 * 1000)
  expect(Date.parse(leaf.validTo)).toBeGreaterThan(now + 24 * 60 * 60 * 1000)
})

it('is believed by a client that trusts it and goes to https://127.0.0.1', async () => {
  const authority = await CertificateAuthority.create()
  const server = https.createServer(authority.identityOf('127.0.0.1'), (_req, res) => res.end('hi'))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const text = await new Promise((resolve, reject) => {
    const url = `https://127.0.0.1:${port}/`
    https
      .get(url, { ca: authority.cert, agent: false }, (res) => {
        res.setEncoding('utf8').on('data', resolve)
      })
      .on('error', reject)
  })
  expect(text).toBe('hi')
  server.close()
})
