import { brotliCompressSync, gzipSync } from 'node:zlib'
import { expect, it } from 'vitest'
import { memory, openStore } from '../../src/index.js'
import { Search, type SearchHit } from '../../src/store/search.js'
import { exchangeData } from '../http/exchanges.js'

it('10. openai-python#1819: finds texts in bodies that were recorded packed', async () => {
  const store = await openStore(memory())
  const run = await store.createRun({ id: 'r' })
  const saidWith = [['Content-Encoding', 'gzip']] as const
  const askedWith = [
    ['content-encoding', 'br'],
    ['x-long', 'y'.repeat(5000)],
  ] as const
  const page = 'so much text. '.repeat(2000)
  await run.append('http/exchange', exchangeData({ said: gzipSync('a needle'), saidWith }))
  await run.append('http/exchange', exchangeData({ said: gzipSync(`${page}needle`), saidWith }))
  await run.append(
    'http/exchange',
    exchangeData({ asked: brotliCompressSync('needle'), askedWith }),
  )
  await run.append('http/exchange', exchangeData({ said: 'needle' }))
  await run.append(
    'http/exchange',
    exchangeData({ said: 'no gzip: needle', saidWith, form: 'decoded' }),
  )
  await run.close()
  const view = await store.inspectRun('r')
  const hits: SearchHit[] = []
  for await (const hit of new Search({ text: 'needle' }).run(view)) hits.push(hit)
  expect(hits.map(({ seq, pointer, match }) => [seq, pointer, match])).toEqual([
    [1, '/response/body', 'needle'],
    [2, '/response/body', 'needle'],
    [3, '/request/body', 'needle'],
    [4, '/response/body', 'needle'],
    [5, '/response/body', 'needle'],
  ])
})
