import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { SseParser, sseEvents, streamEvents } from '../../../src/fold/provider/sse.js'
import { cassetteStreams, fixture, hasFixtures } from './fixtures.js'

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)

/** The events of a body that comes in pieces of these sizes. */
function inPieces(body: Uint8Array, cuts: readonly number[]): unknown[] {
  const parser = new SseParser()
  const at = [0, ...cuts.map((cut) => cut % (body.length + 1)).toSorted((a, b) => a - b)]
  return at.flatMap((start, index) => {
    // One buffer for all pieces, overwritten after each: nothing may hold on to it.
    const piece = new Uint8Array(body.subarray(start, at[index + 1] ?? body.length))
    const events = parser.push(piece)
    piece.fill(0x21)
    return events
  })
}

const field = fc.constantFrom(
  'data: {"a":"é😀"}',
  'data:x',
  'data',
  'data:  two spaces',
  'event: message_start',
  'event:',
  ': a comment',
  'id: 7',
  'retry: 10',
  'odd: 1',
  '',
  '',
)
const newline = fc.constantFrom('\n', '\r\n', '\r')

describe('server-sent events', () => {
  it('are the same wherever the bytes are split', () => {
    const body = fc
      .tuple(fc.constantFrom('', '\uFEFF'), fc.array(fc.tuple(field, newline), { maxLength: 12 }))
      .map(([bom, lines]) => bytes(bom + lines.flat().join('')))
    fc.assert(
      fc.property(body, fc.array(fc.nat(), { maxLength: 6 }), (whole, cuts) => {
        expect(inPieces(whole, cuts)).toEqual(sseEvents(whole))
      }),
      { numRuns: 2_000 },
    )
  })

  it('are the same one byte at a time, with every end of line and a character cut apart', () => {
    const whole = bytes('\uFEFFdata: é😀\r\ndata: b\r\r\nevent: e\rdata: c\n\ndata: d\r\n\r\n')
    const expected = [{ data: 'é😀\nb' }, { data: 'c', event: 'e' }, { data: 'd' }]
    expect(sseEvents(whole)).toEqual(expected)
    const cuts = Array.from({ length: whole.length }, (_, at) => at)
    expect(inPieces(whole, cuts)).toEqual(expected)
  })

  it('end with an empty line: what is unfinished is no event, and not lost', () => {
    const parser = new SseParser()
    expect(parser.push(bytes('data: a\n\nevent: e\ndata: b'))).toEqual([{ data: 'a' }])
    expect(parser.unfinished()).toEqual({ data: 'b', event: 'e' })
    expect(parser.unfinished()).toBeUndefined()
  })

  it('leave out comments, fields that nobody knows, and events without data', () => {
    expect(sseEvents(bytes(': ping\n\nfoo: 1\n\nevent: x\n\ndata\n\n'))).toEqual([{ data: '' }])
  })

  it('keep an id for the events behind it, but no id with a NUL', () => {
    expect(sseEvents(bytes('id: 1\ndata: a\n\nid: 2\0\ndata: b\n\n'))).toEqual([
      { data: 'a', id: '1' },
      { data: 'b', id: '1' },
    ])
  })

  it('say what they say as JSON; [DONE] is no event, and what is no JSON stays text', () => {
    const events = sseEvents(bytes('data: {"a":1}\n\ndata: <html>\n\ndata: [DONE]\n\n'))
    expect(streamEvents(events)).toEqual([{ a: 1 }, '<html>'])
  })

  it('read a megabyte in one line, in small pieces, in time', () => {
    const long = 'x'.repeat(1 << 20)
    const parser = new SseParser()
    const events: unknown[] = []
    const body = bytes(`data: ${long}\n\n`)
    for (let at = 0; at < body.length; at += 64)
      events.push(...parser.push(body.subarray(at, at + 64)))
    expect(events).toEqual([{ data: long }])
  })
})

describe.skipIf(!hasFixtures)('recorded streams', () => {
  it.each([
    ['sse/langgraphjs-react-agent-tool-result.sse', 59],
    ['sse/tapes-messages_error_mid_stream.sse', 4],
    ['sse/tapes-messages_truncated_stream.sse', 2],
  ])('%s has its events under every split', (name, count) => {
    const body = fixture(name)
    const whole = sseEvents(body)
    expect(whole.length).toBe(count)
    for (const { data } of whole) expect(() => JSON.parse(data)).not.toThrow()
    fc.assert(
      fc.property(fc.array(fc.nat(), { maxLength: 8 }), (cuts) => {
        expect(inPieces(body, cuts)).toEqual(whole)
      }),
      { numRuns: 50 },
    )
  })

  it('traffic.md section 3: cassettes of three providers parse to the last event', () => {
    for (const name of ['bedrock-reused-tool-call-ids-stream', 'groq-tool-use-failed-streaming']) {
      for (const body of cassetteStreams(`vcr/pydantic-${name}.yaml`)) {
        const events = streamEvents(sseEvents(bytes(body)))
        expect(events.length).toBeGreaterThan(5)
        expect(events.every((event) => typeof event === 'object')).toBe(true)
      }
    }
  })
})
