import { conditionOf, costText } from '@chirality/core'
import type { StoredSession } from '@chirality/sessions'
import { EXIT } from '../../exit-code.ts'
import { oneArgument, readOptions } from '../../options.ts'
import type { Output } from '../../output.ts'
import { minute, plain, type Style, style, wantsColour } from '../../render/style.ts'
import { continueCommand, findSession } from './find-session.ts'
import { lastTurns } from './transcript.ts'

/** A session's facts, its last turns, and the command that continues it. */
export async function showCommand(args: string[], output: Output): Promise<number> {
  const { values, positionals } = readOptions(args, { json: { type: 'boolean' } })
  const session = await findSession(oneArgument(positionals, 'the id of a session'))
  if (values.json) {
    await output.write(`${JSON.stringify(session)}\n`)
    return EXIT.done
  }
  const colour = wantsColour(output.isTerminal)
  await output.write(facts(session, style(colour)))
  await output.write(await lastTurns(session, colour))
  await output.write(`\nContinue with: ${continueCommand(session)}\n`)
  return EXIT.done
}

function facts(session: StoredSession, paint: Style): string {
  const { id, title, projectRoot, harness, model, persona, mode, forkedFrom } = session
  const agent = [harness, model].filter(Boolean).join(' · ')
  const rows: [string, string][] = [
    ['session', id],
    ['project', projectRoot],
    ['agent', agent === '' ? 'not chosen yet' : agent],
    ['persona', persona === null ? mode : `${persona} · ${mode}`],
    ['created', minute(session.createdAt)],
    ['updated', minute(session.updatedAt)],
    ['turns', `${session.turnCount}${session.lastTurn === null ? '' : `, the last ${session.lastTurn}`}`],
    ['cost', costText({ usd: session.costUsd, isEstimate: session.costIsEstimate }) ?? 'not known'],
    ['now', now(session)],
    ...(forkedFrom ? [['fork of', `${forkedFrom.sessionId} at ${forkedFrom.seq}`] as [string, string]] : []),
  ]
  const lines = rows.map(([name, value]) => `${paint.dim(name.padEnd(NAME_WIDTH))} ${plain(value)}\n`)
  return `${paint.bold(plain(title ?? 'Untitled'))}\n${lines.join('')}`
}

function now(session: StoredSession): string {
  const condition = conditionOf({ ...session, phase: session.status })
  const { error } = session.progress
  return error === null ? condition : `${condition}: ${error.message}`
}

const NAME_WIDTH = 'fork of'.length
