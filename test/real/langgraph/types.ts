// Compiles against LangGraph's own types: our saver is one of theirs, and a graph takes it.
import { Annotation, START, StateGraph } from '@langchain/langgraph'
import {
  type BaseCheckpointSaver,
  type CheckpointTuple,
  JsonPlusSerializer,
} from '@langchain/langgraph-checkpoint'
import type { Store } from '../../../dist/index.js'
import { DaglogSaver } from '../../../dist/langgraph.js'

declare const store: Store

class Point {
  constructor(readonly x: number) {}
}

export const plain: BaseCheckpointSaver = new DaglogSaver(store)
export const told = new DaglogSaver(store, { classes: [Point], serde: new JsonPlusSerializer() })
export const tuple: Promise<CheckpointTuple | undefined> = told.getTuple({
  configurable: { thread_id: 't' },
})
export const graph = new StateGraph(Annotation.Root({ n: Annotation<number> }))
  .addNode('a', ({ n }) => ({ n: n + 1 }))
  .addEdge(START, 'a')
  .compile({ checkpointer: told })
