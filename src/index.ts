/**
 * daglog: the flight recorder and session store for AI agents.
 */
export type { Abilities, Backend } from './backend/backend.js'
export { directory } from './backend/fs.js'
export { memory } from './backend/memory.js'
export type { Ref } from './core/body.js'
export { DaglogError, ERROR_KINDS, type ErrorCode, type ErrorKind } from './core/errors.js'
export type { EventMap, EventType, ParentLink, RunEvent, RunStatus } from './core/event.js'
export type { Hash } from './core/hash.js'
export { type OpenStoreOptions, openStore } from './open.js'
export type { Appended } from './store/appender.js'
export type { Durability } from './store/context.js'
export type { EventsOptions } from './store/event-reader.js'
export type { Notice } from './store/notices.js'
export type { NewEvent, OpenRunOptions, Run } from './store/run.js'
export type { RunView } from './store/run-view.js'
export { type Step, type StepBody, type StepOptions, step } from './store/steps.js'
export type { CreateRunOptions, RunInfo, Store, StoreOptions } from './store/store.js'
