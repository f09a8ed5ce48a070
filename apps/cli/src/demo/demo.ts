// Until there is a dashboard, `npm start` runs this: a real Claude Code at work, on a scripted model.
import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import type { Session } from '@chirality/core'
import { bundledClaude, ClaudeCodeHarness, processEnv } from '@chirality/runner'
import { claudeEnv, startScriptedModel } from '@chirality/scripted-model'
import { style } from '../render/style.ts'
import { TerminalRenderer } from '../render/terminal-renderer.ts'
import { createDemoProject, type DemoProject } from './demo-project.ts'
import { demoScript, TEST } from './demo-script.ts'

const paint = style(process.stdout.isTTY === true)

process.exitCode = await demo()

async function demo(): Promise<number> {
  const project = await createDemoProject()
  const model = await startScriptedModel(demoScript(project.folder))
  const { PATH, CHIRALITY_CLAUDE_BIN } = processEnv()
  const harness = new ClaudeCodeHarness({
    // The pinned agent, not the user's: the demo shows what was tested.
    binaryPath: CHIRALITY_CLAUDE_BIN ?? bundledClaude(),
    environment: { ...claudeEnv(model, project.home), ...(PATH ? { PATH } : {}) },
  })
  const session = newSession(project)
  const stop = () => harness.kill(session.id)
  process.once('SIGINT', stop).once('SIGTERM', stop)
  try {
    say('A real Claude Code works on a small project. Only the model is scripted: no account, no network.\n')
    const done =
      (await turn(harness, session, 'The test fails. Find out why and mend it.')) &&
      (await turn(harness, session, 'What did you change?'))
    if (!done) return 1
    say(
      `\ngreet.js as the agent left it:\n\n${await readFile(path.join(project.folder, 'greet.js'), 'utf8')}`,
    )
    say(
      'Now with your own account:\n\n  npx chirality doctor\n  npx chirality run "What does this project do?"\n',
    )
    return 0
  } finally {
    process.off('SIGINT', stop).off('SIGTERM', stop)
    await harness.close()
    await model.close()
    await project.remove()
  }
}

/** One turn, shown as it happens. False when it did not complete. */
async function turn(harness: ClaudeCodeHarness, session: Session, message: string): Promise<boolean> {
  const renderer = new TerminalRenderer({ colour: process.stdout.isTTY === true })
  let completed = false
  say(`${paint.bold(`> ${message}`)}\n`)
  const opts = { autoApproveTools: ['Read', 'Edit', `Bash(${TEST}:*)`] }
  for await (const event of harness.startTurn(session, message, opts)) {
    if (event.type === 'session:init') session.claudeSessionId = event.claudeSessionId
    if (event.type === 'turn:end') completed = event.reason === 'completed'
    process.stdout.write(renderer.render(event))
  }
  say('')
  return completed
}

function newSession(project: DemoProject): Session {
  const now = new Date().toISOString()
  const id = randomUUID()
  return {
    id,
    createdAt: now,
    updatedAt: now,
    projectRoot: project.folder,
    persona: null,
    mode: 'direct',
    claudeSessionId: null,
  }
}

function say(text: string): void {
  process.stdout.write(`${text}\n`)
}
