// Starts a tool server, leaves calls hanging in every way, stops it. Ends by itself if nothing was left open.
import { connect } from 'node:net'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { startToolServer } from '../../../src/tool-server/index.ts'

let hanging = 0
let allHang = () => {}
const hung = new Promise<void>(resolve => {
  allHang = resolve
})
const handle = await startToolServer(
  [
    {
      name: 'hang',
      description: 'Never answers.',
      inputSchema: { type: 'object' },
      handler: () => {
        hanging += 1
        if (hanging === 2) allHang()
        return new Promise(() => {})
      },
    },
  ],
  { deadlineMs: 3_600_000 },
)
const { url, headers = {} } = handle.mcpServer

async function hang(): Promise<Client> {
  const client = new Client({ name: 'life', version: '1' })
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }))
  client.callTool({ name: 'hang' }).catch(() => {})
  return client
}

const [leaver, stayer] = await Promise.all([hang(), hang()])
await hung
await leaver.close()
const silent = connect(Number(new URL(url).port), '127.0.0.1')
await new Promise(resolve => silent.once('connect', resolve))
await handle.stop()
await stayer.close()
silent.destroy()
process.stdout.write('stopped\n')
