import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { refPreview, refText } from '../../src/cli/ref-preview.js'
import { encodeData, type Ref, type RefKind } from '../../src/core/body.js'
import { type Hash, sha256 } from '../../src/core/hash.js'
import { previewOf } from '../../src/value/preview.js'

function refAt(pointer: string, size: number, kind: RefKind = 'text'): Ref {
  const hash: Hash = sha256(Buffer.from(pointer))
  return { pointer, sha256: hash, root: hash, size, kind }
}

/** Data and refs as an event that was appended has them. */
function appended(data: unknown): { data: unknown; refs: Ref[] } {
  const { inline, large } = encodeData(data)
  const refs = large.map((value) => {
    if ('ref' in value) return value.ref
    return refAt(value.pointer, value.bytes.length, value.kind)
  })
  return { data: JSON.parse(inline), refs }
}

const line = (data: unknown, refs: readonly Ref[], pointer = '', lengthMax = 200): string =>
  refPreview(data, { refs, pointer, lengthMax })

describe('a preview of data with parts out of line', () => {
  it('says in each place what is there', () => {
    const page = 'x'.repeat(1_800_000)
    const { data, refs } = appended({ page, n: 5, deep: [{ page }, 'short'] })
    const [one, two] = refs as [Ref, Ref]
    expect(line(data, refs)).toBe(
      `{"page":<1.8 MB text ${one.sha256.slice(0, 6)}…>,"n":5,"deep":[{"page":<1.8 MB text ${two.sha256.slice(0, 6)}…>},"short"]}`,
    )
    expect(data).toMatchObject({ page: null })
    const deep = (data as { deep: unknown }).deep
    expect(line(deep, refs, '/deep')).toBe(`[{"page":<${refText(two)}>},"short"]`)
  })

  it('names the whole where all of it is away', () => {
    const { data, refs } = appended(['y'.repeat(70_000), 'z'.repeat(70_000), 'w'.repeat(5000)])
    expect(refs.length).toBe(3)
    expect(line(data, refs)).toBe(`<${refText(refs[0] as Ref)}>`)
  })

  it('tells of a tree without a size, as it has none', () => {
    const ref = refAt('/value', 0, 'tree')
    expect(line({ value: null }, [ref])).toBe(`{"value":<tree ${ref.sha256.slice(0, 6)}…>}`)
  })

  it('says how much lies in what no longer fits', () => {
    const refs = [refAt('/a', 1000), refAt('/b', 500)]
    const data = { a: null, long: 'l'.repeat(50), b: null }
    expect(line(data, refs, '', 40)).toMatch(
      /^\{"a":<1\.0 kB text \w{6}…>,"long":"l*… \+ 500 B out/,
    )
    const many = Array.from({ length: 5000 }, (_, i) => refAt(`/k${i}`, 10))
    const wide = Object.fromEntries(many.map(({ pointer }) => [pointer.slice(1), null]))
    expect(line(wide, many, '', 40)).toMatch(/… \+ 50\.0 kB out of line$/)
  })

  it('is the plain one where nothing is away, whatever the refs say', () => {
    const anyRefs = fc.array(
      fc.string({ maxLength: 6 }).map((pointer) => refAt(`/no${pointer}`, 1)),
    )
    fc.assert(
      fc.property(fc.jsonValue(), (data) => {
        expect(line(data, [])).toBe(previewOf(data, 200).line)
      }),
      { numRuns: 200 },
    )
    fc.assert(
      fc.property(fc.jsonValue(), anyRefs, (data, refs) => {
        expect(line(data, refs).length).toBeLessThan(300)
      }),
      { numRuns: 200 },
    )
  })

  it('lets no recorded text pass for what is away', () => {
    const ref = refAt('/a', 9)
    const forged = `<${refText(ref)}>`
    for (const text of [forged, 'ref.0', 'ref..0', '"ref.0"', 'ref....1']) {
      expect(line({ a: null, b: text }, [ref])).toBe(`{"a":${forged},"b":${JSON.stringify(text)}}`)
    }
  })
})
