/** Every way in which Node asks: fetch, http and https, with agents of their own or none. Prints what came. */
import http from 'node:http'
import https from 'node:https'

const [plain, secure] = process.argv.slice(2)

function get(module, url, options = {}) {
  return new Promise((resolve) => {
    module
      .get(url, options, (res) => {
        let text = ''
        res.setEncoding('utf8').on('data', (part) => {
          text += part
        })
        res.on('end', () => resolve(`${res.statusCode} ${text}`))
      })
      .on('error', (error) => resolve(error.message))
  })
}

const told = [
  await (await fetch(`${plain}/fetch`)).text(),
  await (await fetch(`${secure}/fetch`, { method: 'POST', body: 'b'.repeat(100_000) })).text(),
  await get(http, `${plain}/global`),
  await get(https, `${secure}/global`),
  await get(https, `${secure}/own`, { agent: new https.Agent({ keepAlive: true }) }),
  await get(https, `${secure}/none`, { agent: false }),
]
process.stdout.write(`${told.join('\n')}\n`)
process.exit(0)
