export { CageError, type CageErrorCode } from './cage-error.ts'
export {
  CAGE_TRIES,
  type CageGateway,
  type CageMount,
  type CagePlan,
  type CageTry,
  type CageTryName,
  type KeeperAnswer,
} from './cage-plan.ts'
export { CAGE_INSTALL, CAGE_PROGRAMS_VARIABLE, type CagePrograms, findCagePrograms } from './cage-programs.ts'
export { keeperCommand } from './keeper-command.ts'
export { type CageNeeds, type CageRequest, placeholderKey, planCage } from './plan-cage.ts'
