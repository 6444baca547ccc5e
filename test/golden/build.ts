/**
 * Makes one golden store, or compares it with what would be made now. Started by `build.mjs`.
 */
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { directory } from '../../src/backend/fs.js'
import { damaged } from './damaged.js'
import { seedChance } from './seed.js'
import { whole } from './whole.js'
import { type Golden, Workshop } from './workshop.js'

const HERE = join(process.cwd(), 'test/golden')

const goldens: readonly Golden[] = [...whole, ...damaged]

export const names: readonly string[] = goldens.map(({ name }) => name)

/** Make a golden store that is not there; true in any case. */
export async function make(name: string): Promise<boolean> {
  const target = join(HERE, name)
  if (existsSync(target)) return true
  const draft = `${target}.draft`
  rmSync(draft, { recursive: true, force: true })
  await build(name, draft)
  renameSync(draft, target)
  console.log(`made ${name}`)
  return true
}

/** Make it elsewhere and say what differs; true where nothing does. */
export async function check(name: string): Promise<boolean> {
  const scratch = mkdtempSync(join(tmpdir(), 'golden-check-'))
  try {
    await build(name, join(scratch, name))
    const found = await differences(join(scratch, name), join(HERE, name))
    console.log(found.length === 0 ? `same     ${name}` : `differs  ${name}: ${found.join(' ')}`)
    return found.length === 0
  } finally {
    rmSync(scratch, { recursive: true })
  }
}

async function build(name: string, target: string): Promise<void> {
  const golden = goldens.find((candidate) => candidate.name === name) as Golden
  seedChance(name)
  const shop = new Workshop(target)
  try {
    await golden.build(shop)
    shop.prune()
    const expected = JSON.stringify(await shop.expected(golden), null, 2)
    writeFileSync(join(target, 'expected.json'), `${expected}\n`)
  } finally {
    await shop.close()
  }
}

/** Files that differ. */
async function differences(made: string, kept: string): Promise<string[]> {
  const files = new Set([...filesIn(made), ...filesIn(kept)])
  const found = [...files].filter((file) => {
    if (file.startsWith('packs')) return false
    const [left, right] = [join(made, file), join(kept, file)]
    return (
      !existsSync(left) || !existsSync(right) || !readFileSync(left).equals(readFileSync(right))
    )
  })
  return (await packed(made)) === (await packed(kept)) ? found : [...found, 'packs/']
}

function filesIn(dir: string): string[] {
  if (!existsSync(dir)) return []
  return readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(dir, join(entry.parentPath, entry.name)))
}

/** What the packs of a store hold, in words; where one is damaged, that. */
async function packed(dir: string): Promise<string> {
  const backend = directory(dir)
  const rows: string[] = []
  try {
    for await (const { hash, kind, bytes } of backend.listObjects(undefined))
      rows.push(`${hash} ${kind} ${bytes}`)
  } catch (error) {
    rows.push(String((error as { code?: unknown }).code))
  }
  await backend.close()
  return rows.sort().join('\n')
}
