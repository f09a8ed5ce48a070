import { packageTests } from '../../.scripts/vitest.ts'

export default packageTests({
  longest: ['test/cross-harness/', 'test/codex/options', 'test/codex/permissions'],
})
