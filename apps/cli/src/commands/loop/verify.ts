import { existsSync } from 'node:fs'
import path from 'node:path'
import { type Finding, verifyTask } from '@chirality/loops'
import { HarnessRegistry } from '@chirality/runner'
import { SessionHost } from '@chirality/sessions'
import { EXIT } from '../../exit-code.ts'
import { oneArgument, projectFolder } from '../../options.ts'
import type { Output } from '../../output.ts'
import { plain } from '../../render/style.ts'

interface VerifyValues {
  project?: string | undefined
  allow?: string[] | undefined
  json?: boolean | undefined
}

/** Checks again all that is said of a task. Only commands run that the user allowed for its loop, or allows here. */
export async function verify(rest: string[], values: VerifyValues, output: Output): Promise<number> {
  const given = oneArgument(rest, 'the receipt or the task')
  const isFile = /[./\\]/.test(given) || existsSync(given)
  const projectRoot = await projectFolder(values.project)
  const { allow = [] } = values
  const host = new SessionHost({ harnesses: new HarnessRegistry(), address: 'chirality loop verify' })
  const what = isFile ? path.resolve(given) : given
  const { task, loopId, commit, findings, results } = await verifyTask(what, {
    projectRoot,
    host,
    allow,
  }).finally(() => host.close())
  const has = (result: Finding['result']) => findings.some(finding => finding.result === result)
  const verdict = has('fails')
    ? 'does not hold'
    : has('unknown')
      ? 'holds as far as it could be checked'
      : 'holds'
  if (values.json) {
    await output.write(`${JSON.stringify({ task, loopId, commit, verdict, findings, results })}\n`)
  } else {
    for (const { part, result, words } of findings)
      await output.write(`${MARKS[result]} ${part.padEnd(9)} ${plain(words)}\n`)
    await output.write(`"${plain(task.title)}" ${verdict} at ${commit.slice(0, 10)}.\n`)
  }
  if (has('fails')) return EXIT.failed
  return has('unknown') ? EXIT.notAllChecked : EXIT.done
}

const MARKS: Record<Finding['result'], string> = { holds: '✓', fails: '✗', unknown: '?' }
