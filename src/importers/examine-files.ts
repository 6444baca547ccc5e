/**
 * All transcripts below some paths, looked at and left as they are.
 */
import { systemCode } from '../core/errors.js'
import { builtInReaders } from '../fold/readers.js'
import { beginning } from './beginning.js'
import { Examination, type Examined } from './examine.js'
import { findFiles, type LeftOut } from './find.js'
import { identify } from './formats.js'
import { Savings } from './savings.js'
import { SourceFile } from './source-file.js'

export interface ExaminedFile extends Examined {
  readonly path: string
  readonly format: string
}

export interface TranscriptHealth {
  readonly files: readonly ExaminedFile[]
  readonly leftOut: readonly LeftOut[]
  readonly passedOver: readonly string[]
  readonly bytes: number
  /** Bytes that are the same as others, in the same file or another. */
  readonly duplicateBytes: number
  /** What the files would take in a store. */
  readonly storedBytes: number
}

/** @throws READ_FAILED for a path that is not there. */
export async function examineFiles(
  paths: readonly string[],
  onProgress: (files: number, bytes: number) => void = () => {},
): Promise<TranscriptHealth> {
  const readers = await builtInReaders()
  const savings = new Savings()
  const files: ExaminedFile[] = []
  const leftOut: LeftOut[] = []
  const passedOver: string[] = []
  let bytes = 0
  for await (const { path, named } of findFiles(paths, (left) => void leftOut.push(left))) {
    let source: SourceFile | undefined
    try {
      source = await SourceFile.open(path)
      const what = identify(await beginning(source), { named })
      const reader = readers.find(({ key }) => key === what?.format.key)
      if (what === undefined || reader === undefined) {
        passedOver.push(path)
        continue
      }
      const examination = new Examination(reader, { format: what.format.key })
      for await (const piece of source.pieces()) {
        examination.take(piece)
        await savings.take(piece.bytes)
        bytes += piece.bytes.length
        onProgress(files.length, bytes)
      }
      files.push({ path, format: what.format.key, ...examination.finish() })
    } catch (error) {
      if (systemCode(error) === undefined) throw error
      leftOut.push({ path, reason: `cannot be read (${systemCode(error)})` })
    } finally {
      await source?.close()
    }
  }
  const storedBytes = await savings.finish()
  return { files, leftOut, passedOver, bytes, duplicateBytes: savings.duplicate, storedBytes }
}
