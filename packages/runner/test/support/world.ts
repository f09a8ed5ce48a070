import { randomUUID } from 'node:crypto'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import type { HarnessQuery, Session } from '@chirality/core'
import { type Script, type ScriptedModel, startScriptedModel } from '@chirality/scripted-model'
import { afterEach, beforeEach, expect } from 'vitest'
import type { RunnerLogEntry } from '../../src/common/log-entry.ts'
import { findByMarker } from '../../src/process/system/leftovers.ts'
import { sendSignal } from '../../src/process/system/process-table.ts'
import { openFiles } from './open-files.ts'

/** A project, a HOME and a temporary folder of a test's own. Afterwards nothing may be left of the test. */
export interface BareWorld {
  readonly root: string
  readonly project: string
  readonly home: string
  /** The agent's TMPDIR. */
  readonly temporary: string
  /** For the environment of a harness: chained into what it sets itself, so that a test finds its own processes only. */
  readonly marker: string
  /** Everything the harnesses of this test logged. */
  readonly logs: RunnerLogEntry[]
  model(script: Script): Promise<ScriptedModel>
  session(fields?: Partial<Session>): Session
  query(fields?: Partial<HarnessQuery>): HarnessQuery
  /** Makes one of `test/programs` an executable that stands in for the agent. */
  fake(name: string, ...args: string[]): string
  /** The raw logs of the project, oldest first. */
  spools(): string[]
  /** What a test starts and its end must stop. */
  atEnd(step: () => Promise<void>): void
}

export function useBareWorld(harness: string): BareWorld {
  let root = ''
  let marker = ''
  let steps: (() => Promise<void>)[] = []
  const logs: RunnerLogEntry[] = []
  const inRoot = (...parts: string[]) => path.join(root, ...parts)

  beforeEach(() => {
    root = realpathSync(mkdtempSync(path.join(tmpdir(), `chirality-${harness}-`)))
    marker = randomUUID()
    steps = []
    logs.length = 0
    mkdirSync(inRoot('home', 'tmp'), { recursive: true })
    mkdirSync(inRoot('project'))
  })

  afterEach(async () => {
    try {
      for (const step of steps.reverse()) await step()
      expect(await findByMarker(marker), 'processes left behind').toEqual([])
      const files = readdirSync(inRoot('home', 'tmp')).filter(name => name.startsWith('chirality-'))
      expect(files, 'temporary files left behind').toEqual([])
      expect(await openFiles(root), 'files left open').toEqual([])
    } finally {
      for (const { pid } of await findByMarker(marker)) sendSignal(pid, 'SIGKILL')
      rmSync(root, { recursive: true, force: true })
    }
  })

  return {
    get root() {
      return root
    },
    get project() {
      return inRoot('project')
    },
    get home() {
      return inRoot('home')
    },
    get temporary() {
      return inRoot('home', 'tmp')
    },
    get marker() {
      return marker
    },
    logs,
    async model(script) {
      const model = await startScriptedModel(script)
      steps.unshift(() => model.close())
      return model
    },
    session: fields => ({
      id: randomUUID(),
      createdAt: '2026-01-01T00:00:00.000Z',
      updatedAt: '2026-01-01T00:00:00.000Z',
      projectRoot: inRoot('project'),
      persona: null,
      mode: 'direct',
      claudeSessionId: null,
      ...fields,
    }),
    query: fields => ({
      prompt: 'Say hello',
      cwd: inRoot('project'),
      mode: 'read-only',
      signal: new AbortController().signal,
      ...fields,
    }),
    fake(name, ...args) {
      const program = fileURLToPath(new URL(`../programs/${name}.mjs`, import.meta.url))
      const file = inRoot(`agent-${randomUUID()}`)
      const words = [process.execPath, program, ...args].map(quoted).join(' ')
      // Every release says so much of itself, except one that is to hang when it is asked.
      const answers = name.startsWith('fake-claude') && !args[0]?.startsWith('version')
      const questions = `--version) echo '2.1.325 (Claude Code)'; exit;; --help) exit;;`
      const asked = answers ? `case "$1" in ${questions} esac\n` : ''
      writeFileSync(file, `#!/bin/sh\n${asked}FAKE_AGENT="$0" exec ${words} "$@"\n`)
      chmodSync(file, 0o755)
      return file
    },
    spools() {
      const folder = inRoot('project', '.chirality', 'logs', harness)
      if (!existsSync(folder)) return []
      const names = readdirSync(folder).filter(name => name.endsWith('.ndjson'))
      return names.sort().map(name => path.join(folder, name))
    },
    atEnd: step => void steps.push(step),
  }
}

/** No test may depend on how fast an agent obeys; one that never does fails by its time limit. */
export const PATIENT_MS = 600_000
export const PATIENT = { interruptGraceMs: PATIENT_MS, termGraceMs: PATIENT_MS, killGraceMs: PATIENT_MS }

/** Nothing listens on the discard port; a request there is refused at once. */
export const NOWHERE = 'http://127.0.0.1:9'

export function definedOnly(env: Record<string, string | undefined>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  )
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`
}
