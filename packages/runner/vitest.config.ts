import { packageTests } from '../../.scripts/vitest.ts'

export default packageTests({
  longest: ['test/cross-harness/', 'test/codex/options', 'test/codex/permissions'],
  alone: [
    'test/codex/slow-reader.test.ts',
    'test/messages-api/bash.test.ts',
    'test/process/agent-process.test.ts',
  ],
})
