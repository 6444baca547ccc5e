/**
 * The verbs that read runs: rows of the table in `verbs.ts`.
 */
import type { Flag, Verb } from './verb.js'
import { JSONL, RUN, RUN_AT } from './verb-arguments.js'

const FROM: Flag = { name: 'from', type: 'number', value: 'SEQ', summary: 'first seq' }
const TYPE: Flag = {
  name: 'type',
  type: 'list',
  value: 'TYPE',
  summary: 'only events of this type; may be given again',
}

const ONLY_RUN: Flag = {
  name: 'run',
  type: 'list',
  value: 'RUN',
  summary: 'only in this run; may be given again',
}

export const READING_VERBS: readonly Verb[] = [
  {
    name: 'show',
    summary: 'Show a run: header, totals, one line an event, and where it ended',
    arguments: [RUN_AT],
    flags: [
      {
        name: 'limit',
        type: 'number',
        value: 'N',
        summary: 'at most the last N events (first N steps); 200 unless told, 0 for all',
      },
      {
        name: 'dag',
        type: 'switch',
        summary: 'its steps, and what each uses of what others gave: declared, nested or inferred',
      },
    ],
    examples: [
      { command: 'daglog show @last', says: 'the latest run' },
      { command: 'daglog show score-3f2a@17', says: 'the run as it was at seq 17' },
      { command: 'daglog show @last --dag', says: 'which step used which value of which' },
    ],
    exits: [0, 1, 3, 4, 5],
    load: async () => (await import('./verb-show.js')).show,
  },
  {
    name: 'events',
    summary: 'Print events with their payloads',
    arguments: [RUN_AT],
    flags: [
      FROM,
      { name: 'to', type: 'number', value: 'SEQ', summary: 'last seq' },
      TYPE,
      { name: 'refs', type: 'switch', summary: 'leave large payloads out and say where they are' },
      JSONL,
    ],
    examples: [
      { command: 'daglog events @last --type step/end --jsonl', says: 'one JSON object a line' },
      { command: 'daglog events @last --from 10 --to 20', says: 'a line for each, for people' },
    ],
    exits: [0, 1, 3, 4],
    load: async () => (await import('./verb-events.js')).events,
  },
  {
    name: 'cat',
    summary: 'Write the exact bytes of a payload to standard output',
    arguments: [
      {
        name: 'WHAT',
        summary: 'RUN:SEQ for the data of an event, RUN:SEQ:POINTER for a part of it, or a SHA-256',
      },
    ],
    flags: [
      {
        name: 'decoded',
        type: 'switch',
        summary: 'a body of an exchange without its content-encoding (gzip, br, ...)',
      },
    ],
    examples: [
      { command: 'daglog cat @last:2:/output > page.html', says: 'what the step at seq 2 gave' },
      { command: 'daglog cat @last:2', says: 'its data as JSON' },
      {
        command: 'daglog cat --decoded @last:4:/response/body',
        says: 'what an HTTP server said; without --decoded as it was sent',
      },
    ],
    exits: [0, 1, 3, 4],
    load: async () => (await import('./verb-cat.js')).cat,
  },
  {
    name: 'state',
    summary: 'Print the state of a run, or a part of it, as JSON',
    arguments: [
      RUN_AT,
      { name: 'POINTER', summary: 'a part of it, such as /messages/0; else all', optional: true },
    ],
    flags: [],
    examples: [
      { command: 'daglog state @last', says: 'what the run knew at its end' },
      { command: 'daglog state score-3f2a@17 /cart/0', says: 'a part of it, as of seq 17' },
    ],
    exits: [0, 1, 3, 4],
    load: async () => (await import('./verb-state.js')).state,
  },
  {
    name: 'messages',
    summary: 'Print the history as a model would be given it, a message a line',
    arguments: [RUN_AT],
    flags: [
      {
        name: 'provider',
        type: 'text',
        value: 'P',
        summary:
          'in the form of openai, openai-responses or anthropic; says on stderr what that changed',
      },
    ],
    examples: [
      { command: 'daglog messages @last', says: 'in neutral form, compactions honoured' },
      { command: 'daglog messages @last --provider anthropic', says: 'as that API accepts it' },
    ],
    exits: [0, 1, 3, 4],
    load: async () => (await import('./verb-messages.js')).messagesOf,
  },
  {
    name: 'search',
    summary:
      'Find a text in what runs hold, and say where: RUN:SEQ, or RUN:SEQ.LINE in a transcript',
    arguments: [{ name: 'TEXT', summary: 'what to look for, as it is' }],
    flags: [
      { name: 'regex', type: 'switch', summary: 'TEXT is a regular expression of JavaScript' },
      { name: 'ignore-case', short: 'i', type: 'switch', summary: 'A is a' },
      { ...TYPE, summary: 'only in events of this type, derived ones too; may be given again' },
      ONLY_RUN,
      { name: 'limit', type: 'number', value: 'N', summary: 'stop after N hits' },
      JSONL,
    ],
    examples: [
      { command: "daglog search 'rate limit'", says: 'exit 0: found; exit 4: nowhere' },
      {
        command: 'daglog search --regex "ENO(ENT|SPC)" --type tool/result',
        says: 'only in what tools gave, also in imported transcripts',
      },
    ],
    exits: [0, 1, 3, 4],
    load: async () => (await import('./verb-search.js')).search,
  },
  {
    name: 'usage',
    summary: 'Tokens that calls of models took, and what they cost by list prices',
    arguments: [],
    flags: [
      {
        name: 'by',
        type: 'text',
        value: 'WHAT',
        choices: ['day', 'model', 'project', 'run'],
        summary: 'a row for each; day unless told. Days are in UTC',
      },
      { name: 'since', type: 'text', value: 'DAY', summary: 'from this day on' },
      { name: 'until', type: 'text', value: 'DAY', summary: 'up to this day' },
      { ...ONLY_RUN, summary: 'only this run; may be given again' },
      {
        name: 'prices',
        type: 'text',
        value: 'FILE',
        summary: 'prices of your own as JSON: a model named there has no other',
      },
    ],
    examples: [
      { command: 'daglog usage', says: 'a line a day, each call counted once' },
      { command: 'daglog usage --by model --since 2026-11-01', says: 'this month, by model' },
    ],
    exits: [0, 1, 4, 5],
    load: async () => (await import('./verb-usage.js')).usage,
  },
  {
    name: 'verify',
    summary: 'Audit runs, and say what that proves',
    arguments: [{ ...RUN, optional: true, many: true }],
    flags: [
      { name: 'all', type: 'switch', summary: 'all runs; so it is where no RUN is given' },
      {
        name: 'head',
        type: 'text',
        value: 'SEQ:HASH',
        summary: 'a head of the one RUN that was kept elsewhere: only that makes it anchored',
      },
    ],
    examples: [
      { command: 'daglog verify', says: 'every run of the store' },
      {
        command: 'daglog verify @last --head 41:9c1f...',
        says: 'also against whoever can write to the store',
      },
    ],
    exits: [0, 1, 3, 4, 5],
    load: async () => (await import('./verb-verify.js')).verify,
  },
  {
    name: 'replay',
    summary:
      'Walk the recorded DAG in order, check the payloads of each node, and print it; or run a program again, answered from the run, without any network',
    arguments: [
      RUN,
      {
        name: 'CMD',
        summary: 'a program that is to run against what is recorded, into a run of its own',
        optional: true,
        many: true,
        command: true,
      },
    ],
    flags: [],
    examples: [
      { command: 'daglog replay @last', says: 'reads everything, runs nothing' },
      {
        command: 'daglog replay @last -- node agent.mjs',
        says: 'exit 6: it asked for what is not recorded; else the code of the program',
      },
    ],
    exits: [0, 1, 3, 4, 5, 6],
    load: async () => (await import('./verb-replay.js')).replay,
  },
  {
    name: 'diff',
    summary:
      'Align two runs by their steps and show where they part, or show what changed in the state of one',
    arguments: [
      { name: 'LEFT', summary: 'a run; RUN@SEQ for its state at that event' },
      { name: 'RIGHT', summary: 'another run; or the same one, @SEQ or as it ended' },
    ],
    flags: [
      {
        name: 'limit',
        type: 'number',
        value: 'N',
        summary: 'show at most N differences; 20 unless told, 0 for all',
      },
    ],
    examples: [
      { command: 'daglog diff @last~1 @last', says: 'exit 0: the same; exit 1: where they part' },
      { command: 'daglog diff score-3f2a@5 score-3f2a@17', says: 'what changed in its state' },
    ],
    exits: [0, 1, 3, 4, 5],
    load: async () => (await import('./verb-diff.js')).diff,
  },
  {
    name: 'bisect',
    summary:
      'Find the first step where a bad run parts from a good one, and the chain of causes from there',
    arguments: [
      { name: 'GOOD', summary: 'a run as it should be' },
      { name: 'BAD', summary: 'a run of the same work that went wrong' },
    ],
    flags: [
      {
        name: 'step',
        type: 'text',
        value: 'ID',
        summary:
          'a step of BAD to explain; else the first that failed there, or the last to differ',
      },
    ],
    examples: [
      { command: 'daglog bisect @last~1 @last', says: 'exit 4: they part nowhere' },
      { command: 'daglog bisect score-3f2a score-77c1 --step n9', says: 'what made n9 differ' },
    ],
    exits: [0, 1, 3, 4, 5],
    load: async () => (await import('./verb-bisect.js')).bisect,
  },
]
