#!/usr/bin/env node
// Stands in for the `tailscale` command: `status --json` prints the file tailscale.json of the home folder, and `serve` forwards
// requests as the real one does, with the name of the machine as Host and the caller's address appended. Without TLS.
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer, request } from 'node:http'
import path from 'node:path'

const file = name => path.join(process.env.HOME, name)
const [command, ...args] = process.argv.slice(2)
const status = JSON.parse(readFileSync(file('tailscale.json'), 'utf8'))

if (command === 'status') {
  if (status.fails) {
    process.stderr.write(`${status.fails}\n`)
    process.exit(1)
  }
  process.stdout.write(JSON.stringify(status))
} else if (command === 'serve' && args[0] === '--https=443') {
  if (status.refuses) {
    process.stderr.write(`${status.refuses}\n`)
    process.exit(1)
  }
  const target = new URL(args[1])
  const server = createServer((incoming, outgoing) => {
    const headers = {
      ...incoming.headers,
      'x-forwarded-for': `${incoming.headers['x-forwarded-for'] ?? ''}, 100.64.0.7`,
    }
    const { method, url } = incoming
    const onward = request(
      { host: target.hostname, port: target.port, path: url, method, headers },
      answer => {
        outgoing.writeHead(answer.statusCode, answer.headers)
        answer.pipe(outgoing)
      },
    )
    onward.on('error', () => outgoing.destroy())
    incoming.pipe(onward)
  })
  server.listen(0, '127.0.0.1', () => {
    writeFileSync(file('tailscale-port'), String(server.address().port))
    process.stdout.write('Available within your tailnet:\n\n')
    process.stdout.write(
      `https://${status.Self.DNSName.replace(/\.$/, '')}/\n|-- proxy ${target.origin}\n\nPress Ctrl+C to exit.\n`,
    )
  })
  process.once('SIGINT', () => process.exit(0))
} else process.exit(2)
