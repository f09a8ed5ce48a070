import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { SessionHarness } from '@chirality/core'
import { HarnessRegistry } from '@chirality/runner'
import { SessionHost } from '@chirality/sessions'
import { onTestFinished } from 'vitest'
import type { InstantAgent } from './instant-agent.ts'

/** A folder of its own with a task list, removed after the test. */
export function projectWith(tasks: string) {
  const folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'chirality-loops-')))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const project = path.join(folder, 'project')
  mkdirSync(project)
  const list = path.join(project, 'TASKS.md')
  writeFileSync(list, tasks)
  return { project, list, home: path.join(folder, 'home') }
}

export function commitAll(project: string): void {
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=me', '-c', 'user.email=me@example', ...args], { cwd: project })
  git('init', '-q', '-b', 'main')
  git('add', '.')
  git('commit', '-qm', 'First')
}

export function hostWith(home: string, ...agents: InstantAgent[]): SessionHost {
  const harnesses = new HarnessRegistry<SessionHarness>()
  for (const agent of agents) harnesses.register(agent)
  const host = new SessionHost({ harnesses, address: 'test', home })
  onTestFinished(() => host.close())
  return host
}
