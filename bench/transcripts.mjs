/**
 * Made-up transcripts with the proportions of real ones, for measuring imports. Seeded: the same seed
 * and the same installed packages give the same bytes.
 * Usage: node bench/transcripts.mjs DIR [--mb 100] [--seed 1]
 * What agents read is real text: sources and docs of the packages that are installed here.
 */
import { randomUUID } from 'node:crypto'
import { closeSync, mkdirSync, openSync, readdirSync, readFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

/** Numbers that look random and are the same each time (mulberry32). */
export function seeded(seed) {
  let state = seed >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = state
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
  return {
    next,
    below: (n) => Math.floor(next() * n),
    pick: (list) => list[Math.floor(next() * list.length)],
    hex: (length) => Array.from({ length }, () => Math.floor(next() * 16).toString(16)).join(''),
    bytes: (length) => Buffer.from(Array.from({ length }, () => Math.floor(next() * 256))),
  }
}

/** Texts of the size of source files. */
function textPool() {
  const root = fileURLToPath(new URL('../node_modules', import.meta.url))
  return readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.(?:m?js|ts|md|json)$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .sort()
    .map((path) => ({ path, text: readFileSync(path, 'utf8') }))
    .filter(({ text }) => text.length > 1500 && text.length < 40_000)
}

const uuid = (random) =>
  `${random.hex(8)}-${random.hex(4)}-4${random.hex(3)}-8${random.hex(3)}-${random.hex(12)}`

/**
 * A folder like `~/.claude` with about so many bytes of sessions, some with sub-agents.
 * @returns {{files: number, bytes: number}}
 */
export function writeClaudeHome(dir, { bytes, seed = 1, sessionBytes = 1_500_000 }) {
  const random = seeded(seed)
  const pool = textPool()
  let written = 0
  let files = 0
  while (written < bytes) {
    const project = join(dir, 'projects', `-home-dev-project-${random.below(12)}`)
    mkdirSync(project, { recursive: true })
    const session = uuid(random)
    // Sizes as they are found: many small ones, few very large ones.
    const wanted = Math.min(sessionBytes * 0.1 * (1 - random.next()) ** -1.2, bytes / 4)
    const add = (path, options) => {
      written += writeSession(path, { random, pool, session, ...options })
      files += 1
    }
    add(join(project, `${session}.jsonl`), { bytes: wanted })
    if (random.next() < 0.15) {
      const agents = join(project, session, 'subagents')
      mkdirSync(agents, { recursive: true })
      const agent = random.hex(7)
      add(join(agents, `agent-${agent}.jsonl`), { bytes: wanted / 5, agent })
    }
  }
  return { files, bytes: written }
}

function writeSession(path, { random, pool, session, bytes, agent }) {
  const file = openSync(path, 'w')
  const cwd = `/home/dev/project-${random.below(12)}`
  const own = Array.from({ length: 12 }, () => random.pick(pool))
  let time = 1_760_000_000_000 + random.below(10_000_000_000)
  let parent = null
  let written = 0
  const put = (record) => {
    time += random.below(9000)
    const id = uuid(random)
    const line = `${JSON.stringify({
      parentUuid: parent,
      isSidechain: agent !== undefined,
      userType: 'external',
      cwd,
      sessionId: session,
      version: '2.1.34',
      gitBranch: 'main',
      ...(agent === undefined ? {} : { agentId: agent }),
      ...record,
      uuid: id,
      timestamp: new Date(time).toISOString(),
    })}\n`
    parent = id
    writeSync(file, line)
    written += Buffer.byteLength(line)
  }
  while (written < bytes) writeTurn({ random, pool, own, put })
  closeSync(file)
  return written
}

const MODEL = 'claude-sonnet-4-5-20250929'

function writeTurn({ random, pool, own, put }) {
  const prose = () => {
    const { text } = random.pick(pool)
    const from = random.below(text.length)
    return text.slice(from, from + 80 + random.below(700))
  }
  put({ type: 'user', message: { role: 'user', content: prose() } })
  const steps = 2 + random.below(14)
  for (let step = 0; step < steps; step += 1) {
    const id = `msg_01${random.hex(22)}`
    const call = `toolu_01${random.hex(22)}`
    const usage = {
      input_tokens: random.below(20),
      cache_creation_input_tokens: random.below(4000),
      cache_read_input_tokens: random.below(120_000),
      output_tokens: random.below(900),
      service_tier: 'standard',
    }
    const assistant = (block) =>
      put({
        type: 'assistant',
        requestId: `req_011${random.hex(20)}`,
        message: {
          model: MODEL,
          id,
          type: 'message',
          role: 'assistant',
          content: [block],
          stop_reason: null,
          stop_sequence: null,
          usage,
        },
      })
    if (random.next() < 0.3)
      assistant({
        type: 'thinking',
        thinking: prose(),
        signature: random.bytes(300).toString('base64'),
      })
    if (random.next() < 0.6) assistant({ type: 'text', text: prose() })
    const read = random.next() < 0.75 ? random.pick(own) : random.pick(pool)
    const { name, input, result, details } = toolUse(random, read, prose)
    assistant({ type: 'tool_use', id: call, name, input })
    if (random.next() < 0.3)
      put({
        type: 'progress',
        data: {
          type: 'hook_progress',
          hookEvent: 'PostToolUse',
          hookName: `PostToolUse:${name}`,
          command: 'true',
        },
        toolUseID: call,
        parentToolUseID: call,
      })
    put({
      type: 'user',
      message: {
        role: 'user',
        content: [{ tool_use_id: call, type: 'tool_result', content: result, is_error: false }],
      },
      toolUseResult: details,
    })
  }
}

/** Results come twice: for the model, and in a form of the tool's own. */
function toolUse(random, { path, text }, prose) {
  const kind = random.next()
  if (kind < 0.35) {
    const from = random.below(Math.max(1, text.length - 6000))
    const part = text.slice(from, from + 6000)
    const numbered = part.split('\n').map((line, at) => `${`${at + 1}`.padStart(6)}→${line}`)
    return {
      name: 'Read',
      input: { file_path: path },
      result: numbered.join('\n'),
      details: {
        type: 'text',
        file: {
          filePath: path,
          content: part,
          numLines: numbered.length,
          startLine: 1,
          totalLines: numbered.length,
        },
      },
    }
  }
  if (kind < 0.5) {
    const change = prose()
    const from = random.below(Math.max(1, text.length - 400))
    const old = text.slice(from, from + 300)
    return {
      name: 'Edit',
      input: { file_path: path, old_string: old, new_string: change },
      result: `The file ${path} has been updated.\n${change}`,
      details: {
        filePath: path,
        oldString: old,
        newString: change,
        originalFile: text,
        structuredPatch: [{ oldStart: 1, lines: [`-${old}`, `+${change}`] }],
        userModified: false,
        replaceAll: false,
      },
    }
  }
  const from = random.below(Math.max(1, text.length - 4000))
  const stdout = text.slice(from, from + 200 + random.below(4000))
  return {
    name: 'Bash',
    input: { command: `grep -rn "${random.hex(6)}" ${path}`, description: 'Look for it' },
    result: stdout,
    details: { stdout, stderr: '', interrupted: false, isImage: false },
  }
}

/**
 * A Codex rollout whose history, with all its images, is written again at each compaction.
 * @returns {{bytes: number, unique: number}} `unique`: every distinct item once.
 */
export function writeCodexRollout(
  path,
  { compactions = 588, images = 89, imageBytes = 20_000, seed = 1 },
) {
  const random = seeded(seed)
  const pool = textPool()
  const file = openSync(path, 'w')
  let bytes = 0
  let unique = 0
  let time = 1_770_000_000_000
  const put = (type, payload, isNew = true) => {
    time += 1000
    const line = `${JSON.stringify({ timestamp: new Date(time).toISOString(), type, payload })}\n`
    writeSync(file, line)
    bytes += Buffer.byteLength(line)
    if (isNew) unique += Buffer.byteLength(line)
  }
  put('session_meta', {
    id: uuid(random),
    timestamp: new Date(time).toISOString(),
    cwd: '/home/dev/app',
    originator: 'codex_cli_rs',
    cli_version: '0.101.0',
    source: 'cli',
    model_provider: 'openai',
  })
  const history = []
  for (let round = 0; round < compactions; round += 1) {
    const text = random.pick(pool).text.slice(0, 1200)
    const items = [
      {
        type: 'message',
        role: 'user',
        content: [{ type: 'input_text', text: text.slice(0, 300) }],
      },
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text }] },
    ]
    if (
      history.filter((item) => item.image).length < images &&
      round % Math.max(1, Math.floor(compactions / images / 2)) === 0
    ) {
      const url = `data:image/png;base64,${random.bytes(imageBytes).toString('base64')}`
      items.push({
        image: true,
        type: 'message',
        role: 'user',
        content: [{ type: 'input_image', image_url: url, detail: 'auto' }],
      })
    }
    for (const item of items) {
      const { image: _, ...payload } = item
      put('response_item', payload)
      history.push(item)
    }
    const kept = history.filter(
      (item) => item.image === true || history.indexOf(item) > history.length - 12,
    )
    put(
      'compacted',
      {
        message: `summary ${round}`,
        replacement_history: kept.map(({ image: _, ...item }) => item),
      },
      false,
    )
    unique += 120
  }
  closeSync(file)
  return { bytes, unique }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { mb: { type: 'string' }, seed: { type: 'string' }, codex: { type: 'boolean' } },
  })
  const [dir = `transcripts-${randomUUID()}`] = positionals
  mkdirSync(dir, { recursive: true })
  const seed = Number(values.seed ?? 1)
  const made = values.codex
    ? writeCodexRollout(join(dir, 'rollout-2026-02-02T02-40-00-seeded.jsonl'), { seed })
    : writeClaudeHome(dir, { bytes: Number(values.mb ?? 100) * 1e6, seed })
  console.log(JSON.stringify({ dir, ...made }))
}
