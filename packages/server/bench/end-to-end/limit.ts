// As little as can be done: the lines of the agents, from their pipes to the socket. Nothing is read in them and nothing kept.
import { spawn } from 'node:child_process'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type WebSocket, WebSocketServer } from 'ws'
import { serveBench } from './serve-bench.ts'

const NEWLINE = 0x0a

const [root = '', program = '', agents = '1'] = process.argv.slice(2)
const sockets = new Set<WebSocket>()
const server = createServer()
new WebSocketServer({ server, perMessageDeflate: false }).on('connection', socket => sockets.add(socket))
await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))

serveBench({
  hello: { url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}`, token: '', sessionIds: [] },
  async begin() {
    for (let i = 0; i < Number(agents); i += 1) {
      const child = spawn(program, [], { cwd: root, stdio: ['pipe', 'pipe', 'ignore'] })
      child.stdin.write('{"type":"user"}\n')
      let rest: Buffer = Buffer.alloc(0)
      child.stdout.on('data', (chunk: Buffer) => {
        const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
        let start = 0
        for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, start)) {
          for (const socket of sockets) socket.send(bytes.subarray(start, end), { binary: false })
          start = end + 1
        }
        rest = bytes.subarray(start)
      })
    }
  },
})
