/**
 * A program of the topic as one file: LangGraph takes a second to import from its hundreds, and
 * what is killed a hundred times is started a hundred times.
 */
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'vite'

/** @returns the path of the bundle, in `dir`. */
export async function bundleOf(program: string, dir: string): Promise<string> {
  const topic = new URL('../real/langgraph/', import.meta.url)
  const topicFile = fileURLToPath(new URL('package.json', topic))
  await build({
    configFile: false,
    logLevel: 'error',
    ssr: { noExternal: true },
    build: {
      ssr: fileURLToPath(new URL(program, topic)),
      outDir: dir,
      target: 'node20',
      rolldownOptions: { output: { entryFileNames: 'bundle.mjs', codeSplitting: false } },
    },
    plugins: [
      {
        name: 'one-copy-of-langchain',
        enforce: 'pre',
        resolveId(source, importer) {
          if (!source.startsWith('@langchain/') || importer === topicFile) return undefined
          return this.resolve(source, topicFile, { skipSelf: true })
        },
      },
    ],
  })
  return join(dir, 'bundle.mjs')
}
