import { ALLOW_VARIABLE, buildChildEnv } from '@chirality/runner'
import { allowFile } from '../../agent-environment.ts'
import type { Check } from './check.ts'

/** Which variables reach every agent, and how to let another one through. */
export function checkEnvironment(environment: Record<string, string>): Check {
  const { env } = buildChildEnv({ source: environment, credentials: 'none' })
  const listed = new Set((environment[ALLOW_VARIABLE] ?? '').split(/[\s,]+/).filter(Boolean))
  const own = [...listed].filter(name => env[name] !== undefined)
  const unset = [...listed].filter(name => environment[name] === undefined)
  const refused = [...listed].filter(name => environment[name] !== undefined && env[name] === undefined)
  const count = Object.keys(environment).length
  const passed = Object.keys(env).filter(name => !listed.has(name) && name !== 'CHIRALITY_RUN')
  const detail = [
    `every agent gets ${passed.sort().join(' ') || 'nothing'}`,
    own.length > 0 && `and, as you said, ${own.join(' ')}`,
    unset.length > 0 && `(not set: ${unset.join(' ')})`,
    refused.length > 0 && `(never passed on: ${refused.join(' ')})`,
    `of ${count} variables`,
  ]
  return {
    check: 'environment',
    ok: refused.length === 0,
    detail: detail.filter(Boolean).join(' '),
    fix: `More: ${ALLOW_VARIABLE}=NAME,OTHER, or names in ${allowFile()}, one a line. An agent gets its own keys besides.`,
  }
}
