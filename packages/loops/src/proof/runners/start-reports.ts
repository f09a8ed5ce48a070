import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { processEnv } from '@chirality/runner'
import { MOCHA_REPORTER, NODE_REPORTER, PRELOAD, PYTEST_PLUGIN } from './report-files.ts'

/** A folder that runners write their reports into, outside of the project, and what makes them do it. */
export interface ReportFolder {
  folder: string
  env: Record<string, string>
  /** True if `go test` prints its report instead of its text. */
  isGo: boolean
  remove(): void
}

/** `commands`: all that is known of what the check runs, for options of Node that exclude each other. */
export function startReports(
  folder: string,
  commands: string,
  env: Readonly<Record<string, string>>,
): ReportFolder {
  const reports = mkdtempSync(path.join(tmpdir(), 'chirality-reports-'))
  for (const [name, content] of FILES) writeFileSync(path.join(reports, name), content)
  const inherited = processEnv()
  const given = (name: string) => env[name] ?? inherited[name] ?? ''
  const options = nodeOptions(reports, commands)
  const isGo = /\bgo\s+test\b/.test(commands) || existsSync(path.join(folder, 'go.mod'))
  return {
    folder: reports,
    isGo,
    env: {
      ...env,
      NODE_OPTIONS: `${given('NODE_OPTIONS')} ${options}`.trim(),
      CHIRALITY_REPORT_OPTIONS: options,
      PYTHONPATH: [reports, given('PYTHONPATH')].filter(one => one !== '').join(path.delimiter),
      PYTEST_ADDOPTS: `${given('PYTEST_ADDOPTS')} ${PYTEST_OPTIONS}`.trim(),
      PYTHONDONTWRITEBYTECODE: '1',
      ...(isGo ? { GOFLAGS: `${given('GOFLAGS')} -json`.trim() } : {}),
    },
    remove: () => rmSync(reports, { recursive: true, force: true }),
  }
}

const FILES = [
  ['preload.cjs', PRELOAD],
  ['mocha-reporter.cjs', MOCHA_REPORTER],
  ['node-reporter.mjs', NODE_REPORTER],
  ['chirality_report.py', PYTEST_PLUGIN],
] as const
/** `xunit1` names the file of each test. */
const PYTEST_OPTIONS = '-p chirality_report -o junit_family=xunit1'

/**
 * Node wants as many destinations as reporters, those of the command line included. A reporter without a destination
 * prints to stdout only while it is the only one.
 */
function nodeOptions(reports: string, commands: string): string {
  const url = pathToFileURL(path.join(reports, 'node-reporter.mjs')).href
  const own = `--test-reporter=${url} --test-reporter-destination=${path.join(reports, 'node.out')}`
  const preload = `--require ${JSON.stringify(path.join(reports, 'preload.cjs'))}`
  if (/--test-reporter-destination\b/.test(commands)) return `${preload} ${own}`
  const toStdout = '--test-reporter-destination=stdout'
  if (/--test-reporter\b/.test(commands)) return `${preload} ${own} ${toStdout}`
  return `${preload} --test-reporter=spec ${toStdout} ${own}`
}
