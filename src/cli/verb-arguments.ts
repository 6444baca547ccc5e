/**
 * Arguments and flags that verbs of several themes take.
 */
import type { Argument, Flag } from './verb.js'

export const RUN: Argument = {
  name: 'RUN',
  summary: 'id of a run, a unique beginning of it (with or without the date), @last or @last~N',
}
export const RUN_AT: Argument = {
  name: 'RUN',
  summary: 'a run; RUN@SEQ means the run as of that event',
}
export const JSONL: Flag = {
  name: 'jsonl',
  type: 'switch',
  summary: 'print one JSON object a line',
}
export const WAIT: Flag = {
  name: 'wait',
  type: 'number',
  value: 'MS',
  summary: 'how long to wait for another writer; 10000 unless told',
}
export const TAKEOVER: Flag = {
  name: 'takeover',
  type: 'switch',
  summary: 'write even if another writer seems alive; that one can acknowledge nothing more',
}
