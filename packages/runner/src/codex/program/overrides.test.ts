import { describe, expect, test } from 'vitest'
import { overrideArgs } from './overrides.ts'

const args = (configOverrides: string[], CHIRALITY_CODEX_CONFIG?: string) =>
  overrideArgs({
    config: { configOverrides },
    environment: CHIRALITY_CODEX_CONFIG === undefined ? {} : { CHIRALITY_CODEX_CONFIG },
  })

describe('overrides of one process', () => {
  test('ours come first, then those of the app, then those of the user: later ones win', () => {
    const all = args(['app=1'], '["user=2", "other=\\"x=y\\""]')
    expect(all.slice(-6)).toEqual(['-c', 'app=1', '-c', 'user=2', '-c', 'other="x=y"'])
    expect(all).toContain('shell_environment_policy.ignore_default_excludes=false')
    expect(all).toContain('features.unbounded_connection_retries=false')
  })

  test.each(['model="x"', '{"model":"x"}', '["model"]', '[1]', '['])(
    '%s is refused as a list of overrides',
    text => {
      expect(() => args([], text)).toThrow(
        expect.objectContaining({ code: 'invalid_query', message: expect.stringContaining('JSON array') }),
      )
    },
  )
})
