import path from 'node:path'
import { formatDuration, visibleLine } from '@chirality/core'
import { verifyReceipt } from '@chirality/loops'
import { userDataFolder } from '@chirality/sessions'
import { EXIT } from '../../exit-code.ts'
import { oneArgument, projectFolder } from '../../options.ts'
import type { Output } from '../../output.ts'
import { plain } from '../../render/style.ts'

interface VerifyValues {
  project?: string | undefined
  allow?: string[] | undefined
  json?: boolean | undefined
}

/** Runs the checks of a receipt again: only commands that the user allowed for its loop, or allows here. */
export async function verify(rest: string[], values: VerifyValues, output: Output): Promise<number> {
  const file = path.resolve(oneArgument(rest, 'the receipt'))
  const projectRoot = await projectFolder(values.project)
  const { allow = [] } = values
  const { receipt, problems, results } = await verifyReceipt(file, {
    ...{ projectRoot, home: userDataFolder(), allow },
  })
  if (values.json) {
    await output.write(
      `${JSON.stringify({ task: receipt.task, commit: receipt.commit, problems, results })}\n`,
    )
  } else {
    for (const { command, exitCode, ms } of results)
      await output.write(`${exitCode === 0 ? '✓' : '✗'} ${visibleLine(command)} · ${formatDuration(ms)}\n`)
    for (const problem of problems) await output.write(`✗ ${plain(problem)}\n`)
    const verdict = problems.length === 0 ? 'holds' : 'does not hold'
    await output.write(
      `The receipt of "${plain(receipt.task.title)}" ${verdict} at ${receipt.commit.slice(0, 10)}.\n`,
    )
  }
  return problems.length === 0 ? EXIT.done : EXIT.failed
}
