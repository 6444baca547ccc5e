export const damaged: readonly import('./workshop.js').Golden[] = []
