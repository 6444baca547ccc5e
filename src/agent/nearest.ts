/**
 * What a step that no recording knows stands for: the recorded one that it most likely was before
 * the program changed. Nothing is answered by likeness; this is for the report alone.
 */
import { valueDigest } from '../core/canonical.js'
import { withoutPointers } from '../core/pointer.js'
import type { Divergence } from '../fold/divergence.js'
import type { KnownAsk } from '../store/answers.js'
import type { RunView } from '../store/run-view.js'
import { diffJson, type JsonDiff } from '../value/json-diff.js'
import { diffRequests, isModelInput } from './model-diff.js'
import { inputOf, type RecordedStep, type Recording } from './recording.js'

/** Recorded steps that are looked at for one that nobody knows, in the order of the recording. */
const CANDIDATES_MAX = 256
/** Changes that a report lists. */
const CHANGES_LISTED_MAX = 50

interface Candidate {
  readonly step: RecordedStep
  readonly diff: JsonDiff
}

/** What was found, and the recorded step that it is taken for. */
export interface Classified {
  readonly divergence: Omit<Divergence, 'tainted'>
  readonly taken?: RecordedStep
}

export async function classify(
  recording: Recording,
  ask: KnownAsk,
  now: { readonly path: string; readonly run: RunView; readonly seq: number | undefined },
): Promise<Classified> {
  const { name, inputDigest } = ask
  const site = ask.site?.()
  const free = recording.children(ask.parentKey).filter(({ asked }) => !asked)
  const side = {
    run: now.run.id,
    ...(now.seq === undefined ? {} : { seq: now.seq }),
    name,
    digest: inputDigest,
    ...(site === undefined ? {} : { site }),
  }
  const near = await nearest(
    free.filter((step) => step.name === name),
    ask,
  )
  const taken =
    near?.step ??
    (await sameInput(
      free.filter((step) => step.name !== name),
      ask,
    ))
  if (taken === undefined) {
    return { divergence: { kind: 'extra', path: now.path, now: side } }
  }
  const recorded = await recordedSide(taken)
  if (near === undefined) {
    return { taken, divergence: { kind: 'renamed', path: now.path, recorded, now: side } }
  }
  const asked = isModelInput(ask.input) && now.seq !== undefined
  const requests = asked
    ? await diffRequests(
        { view: taken.view, seq: taken.start },
        { view: now.run, seq: now.seq as number },
      )
    : undefined
  const { changes, more } = requests ?? near.diff
  const listed = changes.slice(0, CHANGES_LISTED_MAX)
  const unlisted = more + changes.length - listed.length
  return {
    taken,
    divergence: {
      kind: 'input-changed',
      path: taken.path,
      recorded,
      now: side,
      changes: listed,
      ...(unlisted === 0 ? {} : { more: unlisted }),
    },
  }
}

export async function recordedSide(step: RecordedStep): Promise<Divergence['recorded'] & object> {
  const { view, start, name, site } = step
  return {
    run: view.id,
    seq: start,
    name,
    digest: valueDigest(withoutPointers(await inputOf(step), step.ignore)),
    ...(site === undefined ? {} : { site }),
  }
}

/** The one whose input differs in the fewest places; of several the first. */
async function nearest(
  steps: readonly RecordedStep[],
  ask: KnownAsk,
): Promise<Candidate | undefined> {
  const ignore = ask.options.ignore ?? []
  const now = withoutPointers(ask.input, ignore)
  let best: Candidate | undefined
  for (const step of steps.slice(0, CANDIDATES_MAX)) {
    const diff = diffJson(withoutPointers(await inputOf(step), ignore), now)
    if (best === undefined || distance(diff) < distance(best.diff)) best = { step, diff }
  }
  return best
}

/** In leaves: a subtree that is another counts as all that is in it. */
function distance({ changes, more }: JsonDiff): number {
  let sum = more
  for (const { left, right } of changes) sum += Math.max(leaves(left), leaves(right))
  return sum
}

function leaves(value: unknown): number {
  let count = 0
  const work = [value]
  while (work.length > 0) {
    const at = work.pop()
    const inner = typeof at === 'object' && at !== null ? Object.values(at) : []
    if (inner.length === 0 || ArrayBuffer.isView(at)) count += 1
    else for (const one of inner) work.push(one)
  }
  return count
}

async function sameInput(
  steps: readonly RecordedStep[],
  { inputDigest }: KnownAsk,
): Promise<RecordedStep | undefined> {
  for (const step of steps.slice(0, CANDIDATES_MAX)) {
    const digest = valueDigest(withoutPointers(await inputOf(step), step.ignore))
    if (digest === inputDigest) return step
  }
  return undefined
}
