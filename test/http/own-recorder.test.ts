import { expect, it } from 'vitest'
import { marked } from '../../src/http/own-recorder.js'

const seen: [string, string | null][] = []
const fetch = async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
  const { url, headers } = new Request(input, init)
  seen.push([url, [...headers].flat().join(' ')])
  return new Response()
}

it('calls are marked where a sidecar stands, and nowhere else', async () => {
  expect(marked(fetch, 'r', {})).toBe(fetch)
  const marking = marked(fetch, 'größe', { DAGLOG_PROXY: 'http://x' })
  await marking('http://a/', { headers: { a: '1' } })
  await marking(new Request('http://b/', { headers: { b: '2' } }))
  const mark = `x-daglog-recorded ${encodeURIComponent('größe')}`
  expect(seen).toEqual([
    ['http://a/', `a 1 ${mark}`],
    ['http://b/', `b 2 ${mark}`],
  ])
})
