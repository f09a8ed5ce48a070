import path from 'node:path'
import { acpAdapter, claudeBinary, codexBinary } from '@chirality/fixtures'
import { acpDescriptor, HARNESSES, type HarnessDescriptor, KNOWN_AGENTS } from '@chirality/runner'
import { type BenchRow, benchRow, reportBench } from '../../core/bench/report.ts'
import { runConformance } from '../src/index.ts'

// A whole run of each installed agent, in seconds.

const BAR_S = 120
const PATH = `${path.dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin`

const rows: BenchRow[] = []
for (const [descriptor, binaryPath] of [
  [builtIn('claude-code'), claudeBinary()],
  [builtIn('codex'), codexBinary().path],
  [builtIn('agent-sdk'), claudeBinary()],
  [builtIn('messages-api'), undefined],
  [known('claude'), acpAdapter('claude-agent-acp')],
  [known('openai-codex'), acpAdapter('codex-acp')],
] as const) {
  const { durationMs, findings } = await runConformance({ descriptor, binaryPath, path: PATH })
  const supported = findings.filter(({ outcome }) => outcome === 'supported').length
  rows.push(
    benchRow({
      name: `${descriptor.meta.name}: a whole conformance run, in seconds`,
      ratio: durationMs / 1000,
      bar: BAR_S,
      better: 'lower',
      detail: `${supported} of ${findings.length} behaviours are supported`,
    }),
  )
}
reportBench('@chirality/conformance', rows)

function builtIn(id: string): HarnessDescriptor {
  const descriptor = HARNESSES.find(({ meta }) => meta.id === id)
  if (!descriptor) throw new Error(`no harness ${id}`)
  return descriptor
}

function known(name: string): HarnessDescriptor {
  const spec = KNOWN_AGENTS.find(agent => agent.name === name)
  if (!spec) throw new Error(`no agent ${name}`)
  return acpDescriptor(spec)
}
