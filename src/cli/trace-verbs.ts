/**
 * Verbs about stored HTTP traffic, as rows of the table of verbs.
 */
import type { Flag, Verb } from './verb.js'
import { TAKEOVER, WAIT } from './verb-arguments.js'

const REQUEST: readonly Flag[] = [
  { name: 'method', type: 'text', value: 'M', summary: 'of the request; needed' },
  { name: 'url', type: 'text', value: 'URL', summary: 'absolute; needed' },
  {
    name: 'header',
    type: 'list',
    value: 'K:V',
    summary: 'a header of the request; may be given again. Some of them change the answer',
  },
  {
    name: 'body',
    type: 'text',
    value: 'FILE',
    summary: 'the body of the request as it was sent; - for standard input',
  },
]

export const TRACE_VERBS: readonly Verb[] = [
  {
    name: 'trace-put',
    summary: 'Store one HTTP exchange and print its key',
    arguments: [],
    flags: [
      ...REQUEST,
      { name: 'status', type: 'number', value: 'N', summary: 'of the response; needed' },
      {
        name: 'response-header',
        type: 'list',
        value: 'K:V',
        summary: 'a header of the response; may be given again',
      },
      {
        name: 'response',
        type: 'text',
        value: 'FILE',
        summary: 'the body of the response, byte for byte; - for standard input; needed',
      },
      {
        name: 'run',
        type: 'text',
        value: 'RUN',
        summary: 'a run that is there; the run traces unless told, made where there is none',
      },
      WAIT,
      TAKEOVER,
    ],
    examples: [
      {
        command:
          'daglog trace-put --method POST --url https://api.example.com/v1/x --body ask.json --status 200 --response answer.json',
        says: 'secrets are scrubbed before anything is written',
      },
    ],
    exits: [0, 1, 3, 4, 7],
    load: async () => (await import('./verb-trace-put.js')).tracePut,
  },
  {
    name: 'trace-get',
    summary: 'Write the stored body of a response to standard output, byte for byte',
    arguments: [],
    flags: [
      ...REQUEST,
      { name: 'include', short: 'i', type: 'switch', summary: 'status and headers in front' },
      {
        name: 'run',
        type: 'text',
        value: 'RUN',
        summary: 'only this run; all runs unless told, the newest exchange wins',
      },
    ],
    examples: [
      {
        command:
          'daglog trace-get --method POST --url https://api.example.com/v1/x --body ask.json > answer.json',
        says: 'exit 6: nothing is stored under it; the nearest are named on standard error',
      },
    ],
    exits: [0, 1, 3, 4, 5, 6],
    load: async () => (await import('./verb-trace-get.js')).traceGet,
  },
]
