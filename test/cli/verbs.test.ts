import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { docsPage } from '../../src/cli/docs.js'
import { EXIT_CODES } from '../../src/cli/exit-codes.js'
import { usageOf } from '../../src/cli/verb.js'
import { VERBS } from '../../src/cli/verbs.js'
import { daglog, json, say, workplace } from './command.js'

/** The verbs of this version, as the contract names them. */
const PROMISED = [
  ...['init', 'step', 'append', 'end', 'runs', 'show', 'events', 'cat', 'state'],
  ...['verify', 'replay', 'diff'],
  ...['export', 'import', 'fork', 'tail', 'rm', 'salvage', 'doctor'],
]

describe('the table of verbs', () => {
  it('holds every verb that is promised, each once', () => {
    const names = VERBS.map(({ name }) => name)
    expect(names).toEqual([...new Set(names)])
    expect(names).toEqual(expect.arrayContaining(PROMISED))
  })

  it.each(VERBS.map((verb) => [verb.name, verb] as const))(
    'says of %s what it does, how it is used and how it can end',
    async (name, verb) => {
      expect(verb.summary).toMatch(/^[A-Z].*[^.]$/)
      expect(verb.examples.length).toBeGreaterThan(0)
      for (const { command } of verb.examples) expect(command).toContain(`daglog ${name}`)
      expect(verb.exits).toContain(0)
      for (const code of verb.exits) expect(EXIT_CODES).toHaveProperty(String(code))
      const flags = verb.flags.map((flag) => flag.name)
      expect(flags).toEqual([...new Set(flags)])
      expect(typeof (await verb.load())).toBe('function')
    },
  )

  it('makes docs/cli.md; to renew it: daglog commands --markdown > docs/cli.md', () => {
    const page = readFileSync(join(import.meta.dirname, '../../docs/cli.md'), 'utf8')
    expect(page).toBe(docsPage(VERBS))
    for (const verb of VERBS) expect(page).toContain(usageOf(verb))
  })

  it('is printed for programs', async () => {
    const { doc } = await json(['commands'])
    expect(doc).toMatchObject({ schema: 'daglog.commands/1', ok: true, exitCodes: { 3: /./ } })
    expect((doc.verbs as unknown as { name: string }[]).map(({ name }) => name)).toEqual(
      VERBS.map(({ name }) => name),
    )
  })
})

describe('help', () => {
  it('of a verb has its usage, an example and its exit codes', async () => {
    const texts = await Promise.all(VERBS.map(({ name }) => say([name, '--help'])))
    for (const [at, text] of texts.entries()) {
      const { name, examples, flags } = VERBS[at]!
      expect(text).toContain(`Usage: daglog ${name}`)
      expect(text).toContain(examples[0]?.command)
      for (const flag of flags) expect(text).toContain(`--${flag.name}`)
      expect(text).toMatch(/Exit codes:\n {2}0 {3}yes, or done/)
    }
  })

  it('names all verbs, also as `help VERB`', async () => {
    const text = await say(['--help'])
    for (const { name } of VERBS) expect(text).toMatch(new RegExp(`^ {2}${name} `, 'm'))
    expect(await say(['help', 'verify'])).toContain('Usage: daglog verify')
  })

  it('gives way to the version', async () => {
    const { version } = JSON.parse(
      readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8'),
    )
    expect(await say(['--version'])).toBe(version)
    expect(await say(['--quiet', '-V'])).toBe(version)
  })
})

describe('JSON documents', () => {
  it('have a schema each, and say what the text says', async () => {
    const { cwd } = await workplace(async (store) => {
      const run = await store.createRun({ id: 'r', name: 'named' })
      await run.step('x', { n: 1 }, () => 'out')
    })
    const documents: readonly (readonly [readonly string[], object])[] = [
      [['init', 'more'], { schema: 'daglog.init/1', ok: true, run: /-more-/ }],
      [['step', 'r', 'y'], { schema: 'daglog.step/1', run: 'r', id: 'n2', key: /^[0-9a-f]{64}$/ }],
      [['append', 'r', 'note'], { schema: 'daglog.append/1', run: 'r', seq: 6 }],
      [['show', 'r'], { schema: 'daglog.show/1', run: 'r', name: 'named', totals: { steps: 2 } }],
      [
        ['events', 'r@1'],
        { schema: 'daglog.events/1', run: 'r', events: [{ seq: 0 }, { seq: 1 }] },
      ],
      [['cat', 'r:2:/input/n'], { schema: 'daglog.cat/1', encoding: 'utf8', content: '1' }],
      [
        ['replay', 'r'],
        { schema: 'daglog.replay/1', ok: true, steps: [{ id: 'n1' }, { id: 'n2' }] },
      ],
      [
        ['fork', 'r', '--id', 'f'],
        { schema: 'daglog.fork/1', run: 'f', parent: { run: 'r', seq: 6 } },
      ],
      [['end', 'r'], { schema: 'daglog.end/1', run: 'r', status: 'ok', seq: 7 }],
      [
        ['verify', 'r', 'f'],
        { schema: 'daglog.verify/1', ok: true, runs: [{ run: 'r' }, { run: 'f' }] },
      ],
      [['export', 'r', '-o', 'r.jsonl'], { schema: 'daglog.export/1', ok: true, format: 'jsonl' }],
      [
        ['salvage', 'r', '--id', 's'],
        { schema: 'daglog.salvage/1', run: 's', source: 'r', gaps: 0 },
      ],
      [['rm', 's', '--yes'], { schema: 'daglog.rm/1', ok: true, run: 's' }],
      [['runs', '--limit', '9'], { schema: 'daglog.runs/1', ok: true, count: 3 }],
      [['doctor'], { schema: 'daglog.doctor/1', ok: true }],
    ]
    for (const [args, expected] of documents) {
      const { code, doc } = await json(args, { cwd })
      expect(code, args.join(' ')).toBe(0)
      expect(doc, args.join(' ')).toMatchObject(patterns(expected))
    }
  })

  it('of verify has the shape that scripts rely on', async () => {
    const { cwd } = await workplace((store) => store.createRun({ id: 'r' }))
    const { out } = await daglog(['verify', '--json'], { cwd })
    expect(out).toMatch(
      /^\{"schema":"daglog.verify\/1","ok":true,"runs":\[\{"run":"r","ok":true,"level":"head-log","events":1,"objects":0,"head":\{"seq":0,"hash":"[0-9a-f]{64}"\}/,
    )
    expect(out.split('\n')).toHaveLength(2)
  })
})

/** Regular expressions become matchers, wherever they are. */
function patterns(value: object): object {
  if (value instanceof RegExp) return expect.stringMatching(value)
  if (Array.isArray(value)) return value.map((item) => (isObject(item) ? patterns(item) : item))
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, isObject(item) ? patterns(item) : item]),
  )
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}
