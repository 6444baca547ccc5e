/**
 * The verbs of the command line: one table. Help, the docs page, `daglog commands` and the parser
 * are made from it; a verb that is not here does not exist.
 */
import { READING_VERBS } from './reading-verbs.js'
import { TRACE_VERBS } from './trace-verbs.js'
import { TRAFFIC_VERBS } from './traffic-verbs.js'
import type { Flag, Verb } from './verb.js'
import { JSONL, RUN, RUN_AT, TAKEOVER, WAIT } from './verb-arguments.js'

const ID: Flag = { name: 'id', type: 'text', value: 'ID', summary: 'what to call the new run' }
export const VERBS: readonly Verb[] = [
  {
    name: 'init',
    summary: 'Create the store where there is none; with NAME also start a run and print its id',
    arguments: [{ name: 'NAME', summary: 'what the run is about', optional: true }],
    flags: [],
    examples: [
      { command: 'daglog init', says: 'makes ./.daglog, unless a directory above has one' },
      { command: 'run=$(daglog init score)', says: 'run is now like 2026-08-26-score-3f2a' },
    ],
    exits: [0, 1, 7],
    load: async () => (await import('./verb-init.js')).init,
  },
  {
    name: 'step',
    summary: 'Record one finished node of the DAG and print its id',
    arguments: [RUN, { name: 'FN', summary: 'name of what was done' }],
    flags: [
      {
        name: 'in',
        type: 'text',
        value: 'FILE',
        summary:
          'what it was given; - for standard input. UTF-8 is kept as text, the rest as bytes',
      },
      { name: 'out', type: 'text', value: 'FILE', summary: 'what it gave; - for standard input' },
      {
        name: 'dep',
        type: 'list',
        value: 'ID',
        summary: 'a step whose outcome this one used; may be given again',
      },
      { name: 'error', type: 'text', value: 'TEXT', summary: 'what went wrong' },
      WAIT,
      TAKEOVER,
    ],
    examples: [
      {
        command: 'daglog step "$run" fetch.page --in url.txt --out page.html',
        says: 'prints n1',
      },
      {
        command: 'score page.html | daglog step "$run" score --in page.html --out - --dep n1',
        says: 'prints n2',
      },
    ],
    exits: [0, 1, 3, 4, 7],
    load: async () => (await import('./verb-step.js')).step,
  },
  {
    name: 'append',
    summary: 'Append one event and print SEQ:HASH, the head it makes',
    arguments: [RUN, { name: 'TYPE', summary: 'such as note or cart/add' }],
    flags: [
      {
        name: 'data',
        type: 'text',
        value: 'JSON',
        summary: 'its data; - for standard input; {} unless told',
      },
      {
        name: 'op',
        type: 'text',
        value: 'ID',
        summary: 'a name for this append: the same one again is the same event',
      },
      WAIT,
      TAKEOVER,
    ],
    examples: [
      {
        command: `daglog append "$run" note --data '{"text":"hello"}'`,
        says: 'prints a line like 3:9c1fa3... that `daglog verify --head` takes',
      },
    ],
    exits: [0, 1, 3, 4, 7],
    load: async () => (await import('./verb-append.js')).append,
  },
  {
    name: 'answer',
    summary:
      'Answer a question that a run asks of people (run.ask), while it waits or before a resume',
    arguments: [RUN, { name: 'NAME', summary: 'what is asked, or the id of the step that asks' }],
    flags: [
      {
        name: 'data',
        type: 'text',
        value: 'JSON',
        summary: 'the answer; - for standard input; none unless told',
      },
      WAIT,
    ],
    examples: [
      {
        command: 'daglog answer @last approve --data true',
        says: 'the run goes on; the first answer counts',
      },
    ],
    exits: [0, 1, 3, 4, 7],
    load: async () => (await import('./verb-answer.js')).answer,
  },
  {
    name: 'end',
    summary: 'Close the run and print SEQ:HASH, its last head',
    arguments: [RUN],
    flags: [
      {
        name: 'status',
        type: 'text',
        value: 'STATUS',
        choices: ['ok', 'error', 'cancelled'],
        summary: 'how it went; ok unless told',
      },
      WAIT,
      TAKEOVER,
    ],
    examples: [{ command: 'daglog end "$run" --status error', says: 'the run is over' }],
    exits: [0, 1, 3, 4, 7],
    load: async () => (await import('./verb-end.js')).end,
  },
  {
    name: 'runs',
    summary: 'List runs, newest first, those that begin in another below it',
    arguments: [],
    flags: [
      { name: 'flat', type: 'switch', summary: 'all by age, none below another' },
      { name: 'limit', type: 'number', value: 'N', summary: 'at most so many; all unless told' },
    ],
    examples: [
      { command: 'daglog runs --limit 5', says: 'the latest five' },
      { command: "daglog runs --json | jq -r '.runs[].run'", says: 'all ids' },
    ],
    exits: [0, 1, 4],
    load: async () => (await import('./verb-runs.js')).runs,
  },
  ...TRAFFIC_VERBS,
  ...READING_VERBS,
  {
    name: 'export',
    summary: 'Write a run into one file',
    arguments: [RUN],
    flags: [
      {
        name: 'format',
        type: 'text',
        value: 'FORMAT',
        choices: ['jsonl', 'edn', 'bundle', 'raw', 'har', 'mermaid', 'dot'],
        summary:
          'jsonl unless told; a bundle holds log and objects and verifies elsewhere; raw is the file that was imported, byte for byte; har is the HTTP traffic, for browsers and Playwright; mermaid and dot draw its steps',
      },
      {
        name: 'output',
        short: 'o',
        type: 'text',
        value: 'FILE',
        summary: 'a new file that only you can read; else standard output',
      },
      { name: 'force', type: 'switch', summary: 'replace FILE where it is there already' },
      { name: 'refs', type: 'switch', summary: 'leave large payloads out (jsonl, edn)' },
      {
        name: 'allow-secrets',
        type: 'switch',
        summary:
          'write what looks like a secret, too; without, its kind and place are named, and nothing is written',
      },
    ],
    examples: [
      { command: 'daglog export @last --format bundle -o run.daglog', says: 'to send or to keep' },
      { command: 'daglog export @last | jq .type', says: 'events for any tool' },
      {
        command: 'daglog export claude-0cf3 --format raw -o session.jsonl',
        says: 'the transcript as it was',
      },
      { command: 'daglog export @last --format dot | dot -Tsvg > run.svg', says: 'a drawing' },
      {
        command: 'daglog export @last --format har -o run.har',
        says: 'its HTTP exchanges; exit 5: one of them has no place in a HAR',
      },
    ],
    exits: [0, 1, 3, 4, 5],
    load: async () => (await import('./verb-export.js')).exportRun,
  },
  {
    name: 'import',
    summary: 'Take in transcripts of other programs, bundles, or HTTP traffic, and print run ids',
    arguments: [
      {
        name: 'PATH',
        summary:
          'a transcript, a folder of them at any depth, a bundle, a HAR, or a cassette of vcrpy',
        many: true,
      },
    ],
    flags: [
      {
        name: 'from',
        type: 'text',
        value: 'FORM',
        choices: ['auto', 'claude-code', 'codex', 'dsh', 'bundle', 'har', 'vcr'],
        summary: 'what the files are; auto unless told',
      },
      ID,
    ],
    examples: [
      {
        command: 'daglog import ~/.claude ~/.codex',
        says: 'all sessions; again later: only what is new. Exit 5: something was left out',
      },
      { command: 'daglog import run.daglog', says: 'then: daglog verify' },
      {
        command: 'daglog import browser.har',
        says: 'a run that replays; what a HAR cannot carry is told. Exit 5: an entry was left out',
      },
    ],
    exits: [0, 1, 3, 5, 7],
    load: async () => (await import('./verb-import.js')).importRuns,
  },
  ...TRACE_VERBS,
  {
    name: 'fork',
    summary: 'Start a run where another is at an event, and print its id; nothing is copied',
    arguments: [RUN_AT],
    flags: [
      ID,
      { name: 'name', type: 'text', value: 'NAME', summary: 'what the fork is about' },
      {
        name: 'close',
        type: 'switch',
        summary: 'inside an open turn, too: it is closed in the fork',
      },
    ],
    examples: [{ command: 'daglog fork score-3f2a@17', says: 'begins after seq 17' }],
    exits: [0, 1, 3, 4, 7],
    load: async () => (await import('./verb-fork.js')).fork,
  },
  {
    name: 'tail',
    summary: 'Follow a run: its last events, then each as it comes, until the run ends',
    arguments: [RUN],
    flags: [
      { name: 'follow', type: 'switch', summary: 'go on after the end of the run, too' },
      { name: 'lines', short: 'n', type: 'number', value: 'N', summary: 'begin N events back; 10' },
      JSONL,
    ],
    examples: [{ command: 'daglog tail @last', says: 'stop with Ctrl-C' }],
    exits: [0, 1, 3, 4],
    load: async () => (await import('./verb-tail.js')).tail,
  },
  {
    name: 'rm',
    summary: "Delete a run, and record that in the store's log",
    arguments: [RUN],
    flags: [
      { name: 'yes', type: 'switch', summary: 'do it; without, only what would go is said' },
      { name: 'children', type: 'switch', summary: 'also the runs below it' },
      { name: 'force', type: 'switch', summary: 'also where other runs begin in it' },
    ],
    examples: [
      { command: 'daglog rm score-3f2a', says: 'says what would go, and exits with 2' },
      { command: 'daglog rm score-3f2a --yes', says: 'deletes it' },
    ],
    exits: [0, 1, 4, 7],
    load: async () => (await import('./verb-rm.js')).rm,
  },
  {
    name: 'salvage',
    summary: 'Make a new run with everything readable of a damaged one, linked to it',
    arguments: [RUN],
    flags: [ID],
    examples: [
      {
        command: 'daglog salvage score-3f2a',
        says: 'exit 5: what could not be read is named in it',
      },
    ],
    exits: [0, 1, 3, 4, 5, 7],
    load: async () => (await import('./verb-salvage.js')).salvage,
  },
  {
    name: 'du',
    summary: 'Show what runs take, what they share, and what the store takes on disk',
    arguments: [],
    flags: [],
    examples: [{ command: 'daglog du', says: 'exit 5: a run could not be read whole' }],
    exits: [0, 1, 4, 5],
    load: async () => (await import('./verb-du.js')).du,
  },
  {
    name: 'gc',
    summary: 'Drop packed objects that no run needs any more; refused while anybody writes',
    arguments: [],
    flags: [{ name: 'dry-run', type: 'switch', summary: 'only say what is needed by none' }],
    examples: [
      { command: 'daglog gc --dry-run', says: 'what would be worth it' },
      { command: 'daglog gc', says: 'exit 3: something cannot be read, and nothing was dropped' },
    ],
    exits: [0, 1, 3, 4, 7],
    load: async () => (await import('./verb-gc.js')).gc,
  },
  {
    name: 'doctor',
    summary: 'Check the health of store and machine, or of transcripts of other programs',
    arguments: [
      {
        name: 'PATH',
        summary: 'transcripts, or folders of them; they are only read',
        optional: true,
        many: true,
      },
    ],
    flags: [],
    examples: [
      { command: 'daglog doctor', says: 'what to mend, and how' },
      {
        command: 'daglog doctor ~/.claude ~/.codex',
        says: 'bad lines, orphan calls, secrets, and what an import would save; writes nothing',
      },
    ],
    exits: [0, 1, 3, 4, 5],
    load: async () => (await import('./verb-doctor.js')).doctor,
  },
  {
    name: 'commands',
    summary: 'List the verbs, for people, programs or the docs',
    arguments: [],
    flags: [{ name: 'markdown', type: 'switch', summary: 'print docs/cli.md' }],
    examples: [{ command: 'daglog commands --json', says: 'the table that help is made from' }],
    exits: [0],
    load: async () => {
      const { commands } = await import('./verb-commands.js')
      return (call) => commands(call, VERBS)
    },
  },
]
