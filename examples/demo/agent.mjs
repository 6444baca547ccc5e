/**
 * A small agent, with real tools: it reads this project's lockfile and says what its packages weigh on a
 * product that ships them. Its "model" is a few rules instead of an API, so that the demo needs no key;
 * everything around it is what an agent with a model has: a plan, tools, a branch, a failure and a retry,
 * a page of 2 MB that is seen twice, a turn that may be cut short.
 *
 * node agent.mjs STORE RUN [--die-in STEP]
 */
import { readFile } from 'node:fs/promises'
import { openStore } from 'daglog'

const LOCKFILE = new URL('../../package-lock.json', import.meta.url)

/** Stands in for a language model: the same question always gets the same answer. */
function model({ question, facts }) {
  if (question === 'plan') return ['lockfile', 'licences', 'sizes', 'advisories', 'report']
  const { packages, licences, scripts, advisories } = facts
  const rare = Object.entries(licences).filter(
    ([name]) => !/^(?:MIT|ISC|Apache-2.0|BSD)/.test(name),
  )
  return [
    `${packages} packages; licences: ${Object.keys(licences).join(', ')}.`,
    rare.length === 0
      ? 'No licence needs a lawyer.'
      : `A lawyer should read: ${rare.map(([name]) => name).join(', ')}.`,
    `${scripts.length} run a script at install${scripts.length > 0 ? ` (${scripts.join(', ')})` : ''}.`,
    `${advisories} advisories mention one of them.`,
  ].join(' ')
}

const tools = {
  async lockfile() {
    const { packages } = JSON.parse(await readFile(LOCKFILE, 'utf8'))
    return Object.entries(packages)
      .filter(([path]) => path !== '')
      .map(([path, { version, license, hasInstallScript }]) => {
        return {
          name: path.replace(/^.*node_modules\//, ''),
          version,
          license: license ?? 'unknown',
          script: hasInstallScript === true,
        }
      })
  },
  licences({ packages }) {
    const counts = {}
    for (const { license } of packages) counts[license] = (counts[license] ?? 0) + 1
    return counts
  },
  sizes({ packages }) {
    return packages.filter(({ script }) => script).map(({ name }) => name)
  },
  /** A page of 2 MB from a source that is not always there. */
  async advisories({ attempt }) {
    if (attempt === 1)
      throw Object.assign(new Error('connect ECONNRESET advisories.example'), {
        code: 'ECONNRESET',
      })
    const line = (n) =>
      `ADV-${String(n).padStart(5, '0')} package-${(n * 7919) % 4000} is affected below ${n % 9}.${n % 5}.${n % 7}.\n`
    return Array.from({ length: 38_000 }, (_, n) => line(n)).join('')
  },
}

const [dir, id, , dieIn] = process.argv.slice(2)
const store = await openStore(dir, { onNotice: () => {} })
const run = await store.run(id, { name: 'audit' })

// Resuming is asking the log: what has ended is not done again.
const done = new Map()
const started = new Map()
for await (const event of run.events({ types: ['step/start', 'step/end'] })) {
  if (event.type === 'step/start') started.set(event.data.id, event.data.name)
  if (event.type === 'step/end' && event.data.status === 'ok')
    done.set(started.get(event.data.id), event.data.output)
}
if (done.size > 0)
  console.log(
    `    the log says that ${[...done.keys()].join(', ')} ${done.size === 1 ? 'is' : 'are'} done`,
  )

/** A step by name: from the log where it has ended, else for real. */
async function step(name, input, body) {
  if (done.has(name)) return done.get(name)
  return run.step(name, input, async () => {
    if (name === dieIn) {
      console.log(`    SIGKILL in the middle of "${name}"`)
      process.kill(process.pid, 'SIGKILL')
      await new Promise(() => {})
    }
    return body()
  })
}

const turn = ((await run.last('turn/start'))?.data.turn ?? 0) + 1
await run.append('turn/start', { turn })
await run.append('user/message', { content: 'What do the packages in our lockfile weigh on us?' })
const plan = await step('plan', { question: 'plan' }, () => model({ question: 'plan' }))
const packages = await step('lockfile', { path: 'package-lock.json' }, () => tools.lockfile())
const [licences, scripts] = await Promise.all([
  step('licences', { packages }, () => tools.licences({ packages })),
  step('sizes', { packages }, () => tools.sizes({ packages })),
])
let page
for (let attempt = 1; page === undefined; attempt += 1) {
  try {
    page = await step('advisories', { url: 'https://advisories.example/all', attempt }, () =>
      tools.advisories({ attempt }),
    )
  } catch (error) {
    if (attempt === 3) throw error
    await run.append('retry', { of: 'advisories', attempt, reason: error.message })
  }
}
const names = new Set(packages.map(({ name }) => name))
const hits = await step(
  'match',
  { page },
  () => page.split('\n').filter((line) => names.has(line.split(' ')[1])).length,
)
const report = await step('report', { plan, licences, scripts, advisories: hits }, () =>
  model({
    question: 'report',
    facts: { packages: packages.length, licences, scripts, advisories: hits },
  }),
)
await run.append('assistant/message', {
  content: report,
  model: 'rules',
  usage: { inputTokens: 0, outputTokens: 0 },
})
await run.append('turn/end', { turn, reason: 'completed' })
await run.end()
await store.close()
