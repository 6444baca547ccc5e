/**
 * The verbs of traffic: rows of the table in `verbs.ts`.
 */
import type { Argument, Flag, Verb } from './verb.js'

const COMMAND: Argument = {
  name: 'CMD',
  summary: 'the program and its arguments',
  many: true,
  command: true,
}

const HOST: Flag = {
  name: 'host',
  type: 'list',
  value: 'HOST',
  summary:
    'record this host only, *.HOST for all below it; the rest is tunnelled unseen and told. May be given again',
}

export const TRAFFIC_VERBS: readonly Verb[] = [
  {
    name: 'record',
    summary: 'Run a program with its HTTP traffic recorded into a new run',
    arguments: [COMMAND],
    flags: [
      {
        name: 'name',
        type: 'text',
        value: 'NAME',
        summary: 'what the run is about; the program unless told',
      },
      HOST,
    ],
    examples: [
      { command: 'daglog record -- node agent.mjs', says: 'ends with the code of the program' },
      {
        command: 'daglog record --name fix-1 --host api.anthropic.com -- claude -p "fix it"',
        says: 'only what goes to the model',
      },
    ],
    exits: [0, 1, 5, 7],
    load: async () => (await import('./verb-record.js')).record,
  },
  {
    name: 'proxy',
    summary: 'Stand alone as the sidecar of programs that are started elsewhere, until interrupted',
    arguments: [],
    flags: [
      {
        name: 'mode',
        type: 'text',
        value: 'MODE',
        choices: ['record', 'replay', 'auto'],
        summary:
          'record unless told; auto answers from --run what is recorded there, and records the rest',
      },
      {
        name: 'port',
        type: 'number',
        value: 'N',
        summary: 'on 127.0.0.1; any free one unless told',
      },
      { name: 'run', type: 'text', value: 'RUN', summary: 'the run that answers (replay, auto)' },
      HOST,
    ],
    examples: [
      { command: 'daglog proxy', says: 'prints what to set for a client, a line a variable' },
      { command: 'daglog proxy --mode replay --run @last', says: 'connects to nothing' },
    ],
    exits: [0, 1, 4, 5, 6, 7],
    load: async () => (await import('./verb-proxy.js')).proxy,
  },
]
