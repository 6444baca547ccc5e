import { expect, it } from 'vitest'
import { endToEnd, flatOf, pairsOf, withValue } from '../../../src/http/proxy/header-list.js'

it('what speaks of one hop does not cross; order, case and duplicates do', () => {
  const raw = [
    'Host',
    'h',
    'set-cookie',
    'a',
    'Connection',
    'close, X-Hop',
    'Set-Cookie',
    'b',
    'x-hop',
    '1',
  ]
  expect(flatOf(endToEnd(pairsOf(raw)))).toEqual([
    'Host',
    'h',
    'set-cookie',
    'a',
    'Set-Cookie',
    'b',
  ])
})

it("a proxy's credentials never reach an origin", () => {
  const headers = [
    ['Proxy-Authorization', 'Basic x'],
    ['Authorization', 'y'],
  ] as const
  expect(endToEnd(headers)).toEqual([['Authorization', 'y']])
})

it('a wish for trailers crosses, since trailers do', () => {
  const headers = [
    ['TE', 'trailers'],
    ['Connection', 'TE, close'],
  ] as const
  expect(endToEnd(headers)).toEqual([['TE', 'trailers']])
})

it('a value takes the place of all that were there, under the name as it was written', () => {
  expect(
    withValue(
      [
        ['a', '1'],
        ['HOST', 'x'],
        ['Host', 'y'],
      ],
      'host',
      'z',
    ),
  ).toEqual([
    ['a', '1'],
    ['HOST', 'z'],
  ])
  expect(withValue([['a', '1']], 'host', 'z')).toEqual([
    ['host', 'z'],
    ['a', '1'],
  ])
})
