import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { FleetLocal, FleetService } from '@chirality/centre'
import type { SessionHarness } from '@chirality/core'
import { ClaudeCodeHarness, HarnessRegistry, sendSignal } from '@chirality/runner'
import { expect, onTestFinished, test } from 'vitest'
import { startTestServer } from './support/test-server.ts'

test('a server leaves no process of an agent that the fleet asked about while the server was stopped', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'chirality-late-lookups-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const [binary, file] = [path.join(folder, 'claude'), path.join(folder, 'pid')]
  const script = `#!/bin/sh\necho $$ > '${file}.new'; mv '${file}.new' '${file}'; exec tail -f /dev/null\n`
  writeFileSync(binary, script, { mode: 0o700 })
  const harnesses = new HarnessRegistry<SessionHarness>()
  harnesses.register(
    new ClaudeCodeHarness({ binaryPath: binary, environment: { PATH: process.env.PATH ?? '' } }),
  )
  let local: FleetLocal | undefined
  let asked: Promise<unknown> | undefined
  const fleet: Partial<FleetService> = {
    start: given => {
      local = given
    },
    // It connects at this moment, after the host has ended what it asked its agents.
    close: async () => {
      asked = expect(local?.agents()).rejects.toMatchObject({ code: 'aborted' })
      await expect.poll(() => existsSync(file)).toBe(true)
    },
    ...{ machines: () => [], sessions: () => [], session: () => undefined, spentElsewhere: () => [] },
    onChange: () => () => {},
    info: () => ({ role: 'worker' }) as ReturnType<FleetService['info']>,
  }
  const server = await startTestServer({ harnesses, fleet: fleet as FleetService })
  await server.close()
  expect(sendSignal(Number(readFileSync(file, 'utf8')), 0)).toBe(false)
  await asked
})
