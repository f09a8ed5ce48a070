import { mkdirSync, realpathSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { codexBinary } from '@chirality/fixtures'
import { expect, test } from 'vitest'
import { useProject } from '../../../test/support/project.ts'
import { findCodex } from './executable.ts'

const project = useProject()
const triple = /vendor\/([^/]+)\//.exec(codexBinary().path)?.[1] ?? ''
const PLATFORM = `codex-${process.platform}-${process.arch}`

function write(...parts: string[]): string {
  const file = path.join(realpathSync(project.root), 'node_modules', '@openai', ...parts)
  mkdirSync(path.dirname(file), { recursive: true })
  writeFileSync(file, '{}', { mode: 0o755 })
  return file
}

test.each([
  ['since 0.131', [PLATFORM, 'vendor', triple, 'bin', 'codex']],
  ['from 0.100 to 0.130', [PLATFORM, 'vendor', triple, 'codex', 'codex']],
  ['before 0.100', ['codex', 'vendor', triple, 'codex', 'codex']],
])('the binary behind the script of npm, where it lies %s', async (_when, place) => {
  const script = write('codex', 'bin', 'codex.js')
  write('codex', 'package.json')
  if (place[0] === PLATFORM) write(PLATFORM, 'package.json')
  const binary = write(...place)
  expect(await findCodex({ binaryPath: script, environment: {} })).toBe(binary)
})
