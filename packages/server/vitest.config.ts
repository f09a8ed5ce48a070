import { packageTests } from '../../.scripts/vitest.ts'

export default packageTests({
  longest: ['test/slow-reader', 'test/fuzz', 'test/guard-walk', 'test/events'],
  setupFiles: ['test/support/described-answers.ts'],
})
