import type { HarnessInstallStatus } from '@chirality/core'
import { ClaudeCodeHarness } from '@chirality/runner'
import { EXIT, type ExitCode } from '../exit-code.ts'
import { readOptions } from '../options.ts'
import type { Output } from '../output.ts'
import { type Style, style, wantsColour } from '../render/style.ts'
import { UsageError } from '../usage-error.ts'
import type { Check } from './doctor/check.ts'
import { checkProject } from './doctor/check-project.ts'

/** Looks at everything a first turn needs. Spends no tokens. The exit code is the one `run` would end with. */
export async function doctor(args: string[], output: Output): Promise<number> {
  const { values, positionals } = readOptions(args, {
    project: { type: 'string' },
    json: { type: 'boolean' },
  })
  if (positionals.length > 0) throw new UsageError(`doctor takes no argument, not "${positionals[0]}".`)
  const status = await new ClaudeCodeHarness().checkInstallStatus()
  const checks: [Check, ExitCode][] = [
    [checkNode(process.versions.node), EXIT.failed],
    [checkInstalled(status), EXIT.notInstalled],
    [checkLogin(status), EXIT.notLoggedIn],
    [await checkProject(values.project), EXIT.usage],
  ]
  const paint = style(wantsColour(output.isTerminal))
  for (const [check] of checks)
    await output.write(values.json ? `${JSON.stringify(check)}\n` : line(check, paint))
  return checks.find(([check]) => !check.ok)?.[1] ?? EXIT.done
}

export function checkNode(version: string): Check {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const ok = major > MIN_NODE.major || (major === MIN_NODE.major && minor >= MIN_NODE.minor)
  const fix = { fix: `Install Node ${MIN_NODE.major}.${MIN_NODE.minor} or later.` }
  return { check: 'node', ok, detail: version, ...(ok ? {} : fix) }
}

const MIN_NODE = { major: 20, minor: 19 }

function checkInstalled(status: HarnessInstallStatus): Check {
  const check = 'claude-code'
  if (status.installed) return { check, ok: true, detail: `${status.version} at ${status.path}` }
  return { check, ok: false, detail: 'not installed', fix: status.authInstructions }
}

function checkLogin(status: HarnessInstallStatus): Check {
  const check = 'claude-code login'
  // A stored key is not a proven key: only a turn shows that.
  if (status.authenticated)
    return { check, ok: true, detail: `has a credential (${status.authType}), not yet proven` }
  if (!status.installed) return { check, ok: false, detail: 'not known' }
  return { check, ok: false, detail: 'no credential', fix: status.authInstructions }
}

function line({ check, ok, detail, fix }: Check, paint: Style): string {
  const mark = ok ? paint.green('✓') : paint.red('✗')
  return `${mark} ${check.padEnd(NAME_WIDTH)} ${detail}\n${fix ? `  ${' '.repeat(NAME_WIDTH)} ${paint.dim(fix)}\n` : ''}`
}

const NAME_WIDTH = 'claude-code login'.length
