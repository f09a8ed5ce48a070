import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { SessionHarness, VerdictWord } from '@chirality/core'
import { HarnessRegistry, MessagesApiHarness } from '@chirality/runner'
import { claudeEnv, startScriptedModel } from '@chirality/scripted-model'
import { SessionHost } from '@chirality/sessions'
import { LoopBook } from '../src/index.ts'
import { type Flag, verdictOf } from '../src/proof/verdict.ts'
import type { Deed, Step } from './deed.ts'

/** How a deed ended. */
export interface Outcome {
  word: VerdictWord
  flags: Flag[]
  /** Of a task that is not proved, or of a loop that ended before. */
  why: string
  ms: number
}

/** Plays a deed through a real loop: an agent with the default tools on a scripted model, in a repository of its own. */
export async function play(deed: Deed, modules: string | undefined): Promise<Outcome> {
  const started = Date.now()
  const folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'chirality-proof-')))
  const model = await startScriptedModel({ answers: deed.steps.map(toolOf), otherwise: 'I am done.' })
  const home = path.join(folder, 'home')
  mkdirSync(path.join(home, 'tmp'), { recursive: true })
  const harnesses = new HarnessRegistry<SessionHarness>()
  const { PATH = '' } = process.env
  harnesses.register(new MessagesApiHarness({ environment: { ...claudeEnv(model, home), PATH } }))
  const host = new SessionHost({ harnesses, address: 'proof', home: path.join(home, 'data') })
  try {
    const project = makeProject(folder, deed, modules)
    const book = new LoopBook(project, path.join(home, 'data'))
    const loop = await book.start(host, path.join(project, 'TASKS.md'), {
      settings: { max_attempts: 1, max_failures: 1 },
    })
    const end = await loop.run()
    const [task] = loop.state.tasks.values()
    const verdict = task && verdictOf(task)
    return {
      word: verdict?.word ?? 'not-proved',
      flags: verdict && 'flags' in verdict ? verdict.flags : [],
      why: task?.why ?? end.why,
      ms: Date.now() - started,
    }
  } finally {
    await host.close()
    await model.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

function toolOf(step: Step) {
  if ('bash' in step) return { tool: 'bash', input: { command: step.bash } }
  return { tool: 'write', input: { file_path: step.write, content: step.content } }
}

function makeProject(
  folder: string,
  { project, task, keys = [] }: Deed,
  modules: string | undefined,
): string {
  const root = path.join(folder, 'project')
  const setup = [
    ...(project.needs === 'npm' && modules !== undefined ? [`ln -sfn ${modules} node_modules`] : []),
    ...(project.setup === undefined ? [] : [project.setup]),
  ]
  const head = setup.length === 0 ? '' : `---\nsetup:\n${setup.map(one => `  - ${one}\n`).join('')}---\n`
  const lines = [`- [ ] ${task}`, `  checks: ${project.check}`, ...keys.map(key => `  ${key}`)]
  const files = { ...project.files, 'TASKS.md': `${head}${lines.join('\n')}\n` }
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(root, name)), { recursive: true })
    writeFileSync(path.join(root, name), content)
  }
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=me', '-c', 'user.email=me@example', ...args], { cwd: root })
  git('init', '-q', '-b', 'main')
  git('add', '.')
  git('commit', '-qm', 'First')
  return root
}
