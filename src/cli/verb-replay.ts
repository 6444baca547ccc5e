/** `daglog replay RUN`, which walks what was recorded; with a command, see `replay-command.ts`. */
import { type WalkedStep, type WalkTotals, walkRun } from '../store/walk.js'
import type { Call } from './call.js'
import { statusPiece } from './event-words.js'
import type { ExitCode } from './exit-codes.js'
import type { Output, Piece } from './output.js'
import { bytesText, countText, durationText } from './quantity.js'

const EXITS = { ok: 0, incomplete: 5, damaged: 3 } as const

export async function replay(call: Call): Promise<ExitCode> {
  const { out } = call
  if (call.many('CMD').length > 0) return (await import('./replay-command.js')).replayCommand(call)
  const store = await call.store()
  const view = await store.inspectRun(call.argument('RUN'))
  const walk = walkRun(view)
  if (out.json)
    out.jsonPart(`{"schema":"daglog.replay/1","run":${JSON.stringify(view.id)},"steps":[`)
  let first = true
  for await (const step of walk) {
    if (out.json) out.jsonPart(`${first ? '' : ','}${JSON.stringify(step)}`)
    else printStep(out, step)
    first = false
    await out.flowing()
  }
  const totals = walk.totals()
  const { steps: count, ...rest } = totals
  if (out.json) {
    const fields = JSON.stringify({ ok: totals.verdict === 'ok', count, ...rest })
    out.jsonLine(`],${fields.slice(1)}`)
  } else {
    printTotals(out, totals)
  }
  return EXITS[totals.verdict]
}

function printStep(out: Output, step: WalkedStep): void {
  const { id, name, depth, deps, status, durationMs, input, output, error, problems } = step
  const words: Piece[] = [`${'  '.repeat(depth)}`, ['bold', id], ' ', ['cyan', name]]
  if (deps.length > 0) words.push(` after ${deps.join(', ')}`)
  words.push('  ', statusPiece(status))
  if (durationMs !== undefined) words.push(['dim', `  ${durationText(durationMs)}`])
  out.line(...words)
  const indent = '  '.repeat(depth + 2)
  for (const [label, payload] of Object.entries({ in: input, out: output, error })) {
    if (payload === undefined) continue
    const { preview = '(cannot be read)', bytes } = payload
    out.line(indent, ['dim', `${label.padEnd(5)} ${bytesText(bytes).padStart(8)}  `], preview)
  }
  for (const { seq, code, message } of problems)
    out.line(indent, ['red', `${code}`], ` seq ${seq}: ${message}`)
}

function printTotals(out: Output, totals: WalkTotals): void {
  const { steps, payloads, bytes, problems, odd, incomplete, verdict } = totals
  for (const { seq, code, message } of problems)
    out.line(['red', 'problem '], `seq ${seq}: ${code}: ${message}`)
  for (const { seq, type, why } of odd) out.line(['yellow', 'odd '], `seq ${seq} ${type}: ${why}`)
  for (const what of incomplete) out.line(['yellow', 'incomplete '], what)
  const counts = `${countText(steps, 'step')}  ${countText(payloads, 'payload')} checked`
  const colors = { ok: 'green', incomplete: 'yellow', damaged: 'red' } as const
  out.line([colors[verdict], verdict], `  ${counts}  ${bytesText(bytes)}`)
}
