#ifndef LANEWISE_TESTS_GOLDEN_OPS_H_
#define LANEWISE_TESTS_GOLDEN_OPS_H_

// One function for each ops_NAME.cc: it adds its operations to the table.

#include "tests/golden/operations.h"

namespace lanewise::golden {

void AddGemm(OperationTable& table);
void AddLayoutsReference(OperationTable& table);
void AddLayoutsWeights(OperationTable& table);
void AddMfma(OperationTable& table);
void AddQuantize(OperationTable& table);

}  // namespace lanewise::golden

#endif  // LANEWISE_TESTS_GOLDEN_OPS_H_
