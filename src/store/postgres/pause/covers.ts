/** Whether a pause is about the jobs of a series, whenever it is: `covers` of model/pause.ts. */
export const covers = (pause: string, series: string) =>
  `(${pause}.tenant IS NULL OR ${pause}.tenant = ${series}.tenant) AND (${pause}.job IS NULL OR ${pause}.job = ${series}.job)`
