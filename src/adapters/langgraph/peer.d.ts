/**
 * The part of `@langchain/langgraph-checkpoint` and `@langchain/core` that is used, for our own
 * compiler: both are optional peers and not installed here. Users get the real types, and
 * `test/real/langgraph` checks that ours fit them.
 */
declare module '@langchain/langgraph-checkpoint' {
  import type { RunnableConfig } from '@langchain/core/runnables'
  export type ChannelVersions = Record<string, number | string>
  export interface Checkpoint {
    v: number
    id: string
    ts: string
    channel_values: Record<string, unknown>
    channel_versions: ChannelVersions
    versions_seen: Record<string, ChannelVersions>
  }
  // biome-ignore lint/suspicious/noExplicitAny: as the peer has it.
  export type CheckpointMetadata = any
  export type PendingWrite = [string, unknown]
  export type CheckpointPendingWrite = [string, string, unknown]
  export interface CheckpointTuple {
    config: RunnableConfig
    checkpoint: Checkpoint
    metadata?: CheckpointMetadata
    parentConfig?: RunnableConfig
    pendingWrites?: CheckpointPendingWrite[]
  }
  export interface CheckpointListOptions {
    limit?: number
    before?: RunnableConfig
    // biome-ignore lint/suspicious/noExplicitAny: as the peer has it.
    filter?: Record<string, any>
  }
  export interface SerializerProtocol {
    // biome-ignore lint/suspicious/noExplicitAny: as the peer has it.
    dumpsTyped(data: any): Promise<[string, Uint8Array]>
    // biome-ignore lint/suspicious/noExplicitAny: as the peer has it.
    loadsTyped(type: string, data: Uint8Array | string): Promise<any>
  }
  export interface DeltaChannelHistory {
    writes: CheckpointPendingWrite[]
    seed?: unknown
  }
  export abstract class BaseCheckpointSaver {
    serde: SerializerProtocol
    constructor(serde?: SerializerProtocol)
    toJSON(): string
    get(config: RunnableConfig): Promise<Checkpoint | undefined>
    getNextVersion(current: number | undefined): number
    getDeltaChannelHistory(options: {
      config: RunnableConfig
      channels: string[]
    }): Promise<Record<string, DeltaChannelHistory>>
  }
  export class DeltaSnapshot {
    constructor(value: unknown)
    value: unknown
  }
  export type WritesSortKey = readonly [string, string, number]
  export function writesSortKey(path: string, task?: string, idx?: number): WritesSortKey
  export function compareWritesSortKeys(a: WritesSortKey, b: WritesSortKey): number
  export function maxChannelVersion(...versions: (number | string)[]): number | string
  export const WRITES_IDX_MAP: Record<string, number>
  export const TASKS: string
}

declare module '@langchain/core/messages' {
  const messages: Record<string, unknown>
  export = messages
}

declare module '@langchain/core/runnables' {
  export interface RunnableConfig {
    // biome-ignore lint/suspicious/noExplicitAny: as the peer has it.
    configurable?: Record<string, any>
    metadata?: Record<string, unknown>
    runId?: string
  }
}

declare module '@langchain/core/documents' {
  export class Document {
    constructor(fields: object)
  }
}

declare module '@langchain/core/prompt_values' {
  export class ChatPromptValue {
    constructor(fields: object)
  }
  export class ImagePromptValue {
    constructor(fields: object)
  }
  export class StringPromptValue {
    constructor(value: string)
  }
}
