/**
 * The program inside a child's own network namespace (`bridge.js SOCKET PORT CMD...`): brings up
 * the loopback, listens where the sidecar listens outside, passes bytes on to its Unix socket, and
 * runs the command.
 * @see seal.ts
 */
import { spawnSync } from 'node:child_process'
import net from 'node:net'
import { runChild } from './run-child.js'
import { BRIDGE_NODE_OPTIONS, LOOPBACK_UP } from './seal.js'

/** As a shell says that a command is not there. */
const CANNOT_START = 127

const [socketPath = '', port = '', command = '', ...args] = process.argv.slice(2)
const { [BRIDGE_NODE_OPTIONS]: nodeOptions, ...env } = process.env

spawnSync('sh', ['-c', LOOPBACK_UP], { stdio: 'ignore' })
const server = net.createServer({ allowHalfOpen: true }, (near) => {
  const far = net.connect({ path: socketPath, allowHalfOpen: true })
  const end = (): void => {
    near.destroy()
    far.destroy()
  }
  near.on('error', end)
  far.on('error', end)
  // A cut has to arrive as one: what one side closes for good, the other side loses too.
  near.on('close', () => far.destroySoon())
  far.on('close', () => near.destroySoon())
  near.pipe(far)
  far.pipe(near)
})
server.listen({ host: '127.0.0.1', port: Number(port) }, async () => {
  try {
    const { code, signal } = await runChild({
      command,
      args,
      env: { ...env, NODE_OPTIONS: nodeOptions },
    })
    if (signal !== undefined) process.kill(process.pid, signal)
    process.exit(code)
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n`)
    process.exit(CANNOT_START)
  }
})
