import path from 'node:path'
import { MARKER_VARIABLE } from '../../src/process/system/leftovers.ts'
import type { Contestant } from '../cross-harness/contestant.ts'
import { META } from './descriptor.ts'
import { lineHarness } from './harness.ts'

export function lineAgentForms(): Contestant[] {
  // From the package's folder: a host of the suites is bundled, and its own place says nothing.
  const binary = path.resolve('test/line-agent/agent.mjs')
  return [
    {
      name: META.id,
      harness: META.id,
      isOlder: false,
      processPerTurn: true,
      binary,
      create: (model, { home, marker }, other = binary) =>
        lineHarness({
          binary: other,
          environment: {
            PATH: `${path.dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin`,
            HOME: home,
            TMPDIR: `${home}/tmp`,
            LINE_AGENT_URL: model.url,
            LINE_AGENT_KEY: 'sk-scripted-model',
            [MARKER_VARIABLE]: marker,
          },
        }),
      command: command => ({ tool: 'bash', input: { command } }),
      clientTool: (tool, input) => ({ tool, input }),
      free: { permissionMode: 'bypassPermissions' },
      unknownLine: '{"type":"from_the_future","value":1}',
      asking: null,
    },
  ]
}
