import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  absoluteAim,
  isNamed,
  routedAim,
  routeTo,
  type Target,
  targetOf,
  urlOf,
} from '../../../src/http/proxy/target.js'

const hosts = fc.oneof(fc.domain(), fc.ipV4(), fc.ipV6())
const targets: fc.Arbitrary<Target> = fc.record({
  scheme: fc.constantFrom('http' as const, 'https' as const),
  host: hosts,
  port: fc.integer({ min: 1, max: 65_535 }),
})
const paths = fc.webPath().map((path) => (path.startsWith('/') ? path : `/${path}`))

describe('the way that a request took', () => {
  it('does not show in its URL: base-URL route, absolute form and CONNECT give the same', () => {
    fc.assert(
      fc.property(targets, paths, (target, path) => {
        const url = urlOf({ target, path })
        expect(absoluteAim(url)).toEqual({ target, path })
        const origin = urlOf({ target, path: '' })
        const route = routeTo('t0ken', origin) as string
        expect(routedAim(`${route}${path}`)).toEqual({ token: 't0ken', target, path })
        expect(targetOf(target.scheme, origin.replace(/^https?:\/\//, ''))).toEqual(target)
      }),
    )
  })

  it('leaves a path and a query exactly as they were sent', () => {
    const path = '/v1/%7Echat//x/../y?b=%20&a=+&&b='
    expect(urlOf(absoluteAim(`http://h:81${path}`)!)).toBe(`http://h:81${path}`)
    expect(routedAim(`/t/https/h:81${path}`)?.path).toBe(path)
  })
})

describe('a route', () => {
  it('keeps the path of the base it stands for', () => {
    expect(routeTo('t', 'https://api.openai.com/v1')).toBe('/t/https/api.openai.com/v1')
    expect(routeTo('t', 'http://[::1]:8080/')).toBe('/t/http/[::1]:8080')
    expect(routeTo('t', 'api.openai.com/v1')).toBeUndefined()
  })

  it('may name a provider that is known', () => {
    const openai = { scheme: 'https', host: 'api.openai.com', port: 443 }
    expect(routedAim('/t/openai/v1/models')).toEqual({
      token: 't',
      target: openai,
      path: '/v1/models',
    })
    expect(routedAim('/t/constructor/v1')).toBeUndefined()
    expect(routedAim('/t/nobody/v1')).toBeUndefined()
  })

  it('is none where there is no host, or no port that can be', () => {
    for (const path of ['/', '/t', '/t/https', '/t/https/', '/t/https/h:0/x', '/t/https/h:65536/x'])
      expect(routedAim(path)).toBeUndefined()
  })
})

it('names of hosts are compared without case; a star stands for what is below, not for the name', () => {
  expect(isNamed('API.openai.com', ['api.OpenAI.com'])).toBe(true)
  expect(isNamed('api.openai.com', ['*.openai.com'])).toBe(true)
  expect(isNamed('openai.com', ['*.openai.com'])).toBe(false)
  expect(isNamed('evil-openai.com', ['openai.com', '*.openai.com'])).toBe(false)
})
