import { access, constants } from 'node:fs/promises'
import path from 'node:path'
import type { HarnessInstallStatus } from '@chirality/core'
import { ClaudeCodeHarness } from '@chirality/runner'
import { EXIT } from '../exit-code.ts'
import { readOptions } from '../options.ts'
import { style } from '../render/style.ts'

interface Check {
  check: string
  ok: boolean
  detail: string
  /** What to do about it. */
  fix?: string
}

/** Looks at everything a first turn needs. Spends no tokens. */
export async function doctor(args: string[]): Promise<number> {
  const { values } = readOptions(args, { project: { type: 'string' }, json: { type: 'boolean' } })
  const status = await new ClaudeCodeHarness().checkInstallStatus()
  const checks = [
    nodeCheck(),
    installCheck(status),
    loginCheck(status),
    await projectCheck(path.resolve(values.project ?? '.')),
  ]
  for (const check of checks) process.stdout.write(values.json ? `${JSON.stringify(check)}\n` : line(check))
  if (!status.installed) return EXIT.notInstalled
  if (!status.authenticated) return EXIT.notLoggedIn
  return checks.every(check => check.ok) ? EXIT.done : EXIT.failed
}

function nodeCheck(): Check {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  const ok = major > 20 || (major === 20 && minor >= 19)
  return {
    check: 'node',
    ok,
    detail: process.versions.node,
    ...(ok ? {} : { fix: 'Install Node 20.19 or later.' }),
  }
}

function installCheck(status: HarnessInstallStatus): Check {
  const check = 'claude-code'
  if (status.installed) return { check, ok: true, detail: `${status.version} at ${status.path}` }
  return { check, ok: false, detail: 'not installed', fix: status.authInstructions }
}

function loginCheck(status: HarnessInstallStatus): Check {
  const check = 'claude-code login'
  // A stored key is not a proven key: only a turn shows that.
  if (status.authenticated)
    return { check, ok: true, detail: `has a credential (${status.authType}), not yet proven` }
  return {
    check,
    ok: false,
    detail: 'no credential',
    ...(status.installed ? { fix: status.authInstructions } : {}),
  }
}

async function projectCheck(folder: string): Promise<Check> {
  const check = 'project'
  try {
    await access(folder, constants.W_OK | constants.X_OK)
    return { check, ok: true, detail: folder }
  } catch {
    return {
      check,
      ok: false,
      detail: `${folder} is missing or read-only`,
      fix: 'Name another with --project.',
    }
  }
}

function line({ check, ok, detail, fix }: Check): string {
  const paint = style(process.stdout.isTTY === true)
  const mark = ok ? paint.green('✓') : paint.red('✗')
  return `${mark} ${check.padEnd(18)} ${detail}\n${fix ? `  ${' '.repeat(18)} ${paint.dim(fix)}\n` : ''}`
}
