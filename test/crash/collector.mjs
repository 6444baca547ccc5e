// A process that collects a store again and again until it is killed, and says of each time how it went.
// node collector.mjs STORE: prints `open`, then a report or the code of an error a line.
import { writeSync } from 'node:fs'
import { openStore } from '../../dist/index.js'

const store = await openStore(process.argv[2], { onNotice: () => {} })
writeSync(1, 'open\n')
for (;;) {
  try {
    writeSync(1, `${JSON.stringify(await store.gc())}\n`)
  } catch (error) {
    writeSync(1, `${error.code ?? error}\n`)
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
}
